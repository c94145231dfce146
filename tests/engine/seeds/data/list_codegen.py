# A generated function that takes its inputs as one list.
import typing
from typing import List

import torch
from fxls import engine as fx


class ListCodeGen(fx.CodeGen):
    def gen_fn_def(self, free_vars, maybe_return_annotation):
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
inputs = [torch.ones(1), torch.ones(1)]
print(nf(inputs), fx.Interpreter(nf).run(inputs))
print(nf.graph.process_outputs(3), len(nf.graph.process_inputs(inputs)))
