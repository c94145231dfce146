# The extension point for the head of the function by the name that it had first.
import torch

from fxls import engine as fx


class Unpacking(fx.CodeGen):
    def generate_prologue(self, free_vars, maybe_return_annotation):
        names = ", ".join(free_vars)
        return f"\ndef forward(self, *columns){maybe_return_annotation}:\n    [{names}] = columns[0]"

    def process_inputs(self, *inputs):
        return inputs[0]


def blended(red, green, blue) -> float:
    return red * 0.2 + green * 0.7 + blue * 0.1


module = fx.symbolic_trace(blended)
module.graph.set_codegen(Unpacking())
module.recompile()
print(module.code)
print(module({10.0: "red", 20.0: "green", 30.0: "blue"}))
