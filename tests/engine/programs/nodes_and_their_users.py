# What a module, its graph and its nodes say of themselves.
from fxls import engine as fx


def difference(high, low):
    gap = high - low
    return gap, gap / high


class Copying(fx.Tracer):
    pass


first = fx.symbolic_trace(difference)
print(first)
print(first.graph)
for node in first.graph.nodes:
    reads = [str(one) for one in node.all_input_nodes]
    print(f"{node.op:13} {node} reads {reads}, is read by {sorted(map(str, node.users))}")

# The module is traced once more, as any module could be.
print(fx.GraphModule(first, Copying().trace(first), class_name="Second"))
