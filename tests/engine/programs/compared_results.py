# Two modules are compared by what they compute, with a margin, and not by `==`.
import torch
from torch import nn

from fxls import engine as fx

encoder = nn.Sequential(nn.Embedding(11, 6), nn.LayerNorm(6), nn.Dropout(0.3)).eval()
recorded = fx.symbolic_trace(encoder)
recorded.recompile()
words = torch.tensor([[3, 1, 4], [1, 5, 9]])
try:
    print(bool(encoder(words) == recorded(words)))
except RuntimeError as error:
    print(error)
print(torch.allclose(recorded(words), encoder(words), atol=1e-6))
