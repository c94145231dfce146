"""Traces the model, and calls what a pass made of it."""

import torch
from net import Net

import fxls
from fxls import engine as fx

fxls.install()
gm = fx.symbolic_trace(Net())
gm(torch.ones(2, 4))
(relu,) = gm.graph.find_nodes(op="call_function", target=torch.relu)
with gm.graph.inserting_before(relu):
    tanh = gm.graph.call_function(torch.tanh, relu.args)
relu.replace_all_uses_with(tanh)
gm.graph.erase_node(relu)
gm.recompile()
gm(torch.ones(2, 4))
