# An interpreter needs little: it walks the nodes and keeps their values.
import operator

import torch
from torch import nn

from fxls import engine as fx


class Weather(nn.Module):
    def __init__(self, hidden=7):
        super().__init__()
        self.register_buffer("offset", torch.tensor([1, 2, 3]))
        self.sensor = nn.Sequential(nn.Linear(3, hidden), nn.SELU())

    def forward(self, reading):
        warmest = torch.stack([reading, reading + self.offset]).amax(dim=0)
        return self.sensor(warmest).argmax(dim=1)


def walk(module, *inputs):
    waiting = list(inputs)
    values = {}

    def value_of(argument):
        return fx.graph.map_arg(argument, values.__getitem__)

    steps = {
        "placeholder": lambda target, *_, **__: waiting.pop(0),
        "get_attr": lambda target: operator.attrgetter(target)(module),
        "call_function": lambda target, *args, **kwargs: target(*args, **kwargs),
        "call_method": lambda target, of, *args, **kw: getattr(of, target)(*args, **kw),
        "call_module": lambda target, *args: module.get_submodule(target)(*args),
        "output": lambda target, result: result,
    }
    for node in module.graph.nodes:
        values[node] = steps[node.op](
            node.target, *value_of(node.args), **value_of(node.kwargs)
        )
        # A node takes any attribute.
        node.seen = f"{list(values[node].shape)} {values[node].dtype}"
    return values[module.graph.output_node()]


weather = fx.symbolic_trace(Weather())
readings = torch.arange(12, dtype=torch.float64).view(4, 3).float()
print(torch.equal(walk(weather, readings), weather(readings)))
for node in weather.graph.nodes:
    print(node, node.seen)
