# A call is put behind another one, and takes over its readers.
import torch

from fxls import engine as fx


def mixed(dry, wet):
    loud = dry * 0.75 + wet * 3
    return loud - loud.mean()


module = fx.symbolic_trace(mixed)
graph = module.graph
(loud,) = (node for node in graph.nodes if node.name == "add")
with graph.inserting_after(loud):
    limited = graph.call_function(torch.clamp_max, (loud,), {"max": 2.0})
changed = loud.replace_all_uses_with(limited, lambda reader: reader is not limited)
print(changed)
# The result is an argument, too.
output = graph.output_node()
output.args = ([limited, output.args[0]],)
graph.lint()
module.recompile()
print(module.code)
print(module(torch.tensor([4.0, -4.0]), torch.tensor([1.0, 0.0])))
