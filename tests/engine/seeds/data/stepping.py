# pdb steps into the generated code.
import torch
from torch import nn
from fxls import engine as fx


def my_pass(inp: torch.nn.Module, tracer_class: type = fx.Tracer) -> torch.nn.Module:
    graph = tracer_class().trace(inp)
    return fx.GraphModule(inp, graph)


my_module = nn.Sequential(nn.ReLU())
my_module_transformed = my_pass(my_module)
input_value = torch.randn(5, 3)

import pdb

pdb.set_trace()

my_module_transformed(input_value)
