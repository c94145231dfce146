# A transform takes a module and gives a module: a new one, or the one it was given.
import torch
from torch import nn

from fxls import engine as fx


def recorded_again(model, tracer=fx.Tracer):
    return fx.GraphModule(model, tracer().trace(model), "Again")


def without_last_layer(model):
    module = model if isinstance(model, fx.GraphModule) else fx.symbolic_trace(model)
    last = module.graph.find_nodes(op="call_module")[-1]
    last.replace_all_uses_with(last.args[0])
    module.graph.erase_node(last)
    module.recompile()
    return module


layers = nn.Sequential(nn.Linear(3, 2), nn.Softplus(), nn.Threshold(0.5, 0.0))
sample = torch.linspace(-1, 1, 6).view(2, 3)
again = recorded_again(recorded_again(layers))
print(type(again).__name__, torch.equal(again(sample), layers(sample)))
shorter = without_last_layer(again)
print(shorter is again, torch.equal(shorter(sample), layers[:2](sample)))
print(without_last_layer(layers).code)
