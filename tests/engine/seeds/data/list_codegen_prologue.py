# The same by the name that the extension point had first, which torch.fx has dropped.
import typing

import torch
from fxls import engine as fx


class ListCodeGen(fx.CodeGen):
    def generate_prologue(self, free_vars, maybe_return_annotation):
        lst_unpack = f"""
def forward(self, args_list: List[torch.Tensor]){maybe_return_annotation}:
    {", ".join(free_vars)} = args_list"""
        return lst_unpack

    def additional_globals(self):
        return [("List", typing.List)]

    def process_inputs(self, *inputs):
        assert len(inputs) == 1
        return inputs[0]


def f(a, b):
    return a + b


nf = fx.symbolic_trace(f)
nf.graph.set_codegen(ListCodeGen())
nf.recompile()
print(nf.code.strip())
print(nf([torch.ones(1), torch.ones(1)]))
