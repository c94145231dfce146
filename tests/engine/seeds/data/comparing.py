# Modules are compared by their results, with a margin.
import torch
from torch import nn
from fxls import engine as fx


def transform(m: torch.nn.Module) -> torch.nn.Module:
    gm = fx.symbolic_trace(m)
    gm.recompile()
    return gm


model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()).eval()
transformed = transform(model)
image = torch.randn(5, 3, 8, 8)
try:
    assert model(image) == transformed(image)
except RuntimeError as error:
    print(error)
assert torch.allclose(model(image), transformed(image))
