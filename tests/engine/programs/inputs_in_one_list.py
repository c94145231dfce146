# A CodeGen changes how the generated function takes its inputs and gives its result.
import torch

from fxls import engine as fx


class Rows(list):
    """What the function takes in place of arguments."""


class FromRows(fx.CodeGen):
    def gen_fn_def(self, free_vars, maybe_return_annotation):
        reads = [f"    {name} = rows[{i}]" for i, name in enumerate(free_vars)]
        head = f"def forward(self, rows: Rows){maybe_return_annotation}:"
        return "\n".join([head, *reads])

    def additional_globals(self):
        return [("Rows", Rows)]

    def process_inputs(self, *inputs):
        (rows,) = inputs
        return tuple(rows)

    def process_outputs(self, outputs):
        return {"result": outputs}

    def generate_output(self, output_args, **options):
        return f"return {{'result': {output_args}}}"


def area(width, height):
    return width * height - 1


module = fx.symbolic_trace(area)
module.graph.set_codegen(FromRows())
module.recompile()
print(module.code)
rows = Rows([torch.tensor(6), torch.tensor(7)])
print(module(rows), fx.Interpreter(module).run(rows))
print(module.graph.process_inputs(rows), module.graph.process_outputs(5))
