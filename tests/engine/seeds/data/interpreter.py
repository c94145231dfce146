# The Interpreter pattern: a profiler, and a Transformer that swaps a function.
import torch
from fxls import engine as fx


class Profiler(fx.Interpreter):
    def __init__(self, mod):
        super().__init__(fx.symbolic_trace(mod))
        self.calls = {}
        self.runs = 0

    def run(self, *args):
        self.runs += 1
        return super().run(*args)

    def run_node(self, n):
        result = super().run_node(n)
        self.calls.setdefault(n, []).append(self.runs)
        return result

    def summary(self):
        return [(node.op, str(node), len(runs)) for node, runs in self.calls.items()]


class NegSigmSwapXformer(fx.Transformer):
    def call_function(self, target, args, kwargs):
        if target == torch.sigmoid:
            return torch.neg(*args, **kwargs)
        return super().call_function(target, args, kwargs)

    def call_method(self, target, args, kwargs):
        if target == "neg":
            call_self, *args_tail = args
            return call_self.sigmoid(*args_tail, **kwargs)
        return super().call_method(target, args, kwargs)


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sigmoid(x).neg()


profiler = Profiler(Model())
x = torch.ones(2)
profiler.run(x)
assert torch.equal(profiler.run(x), Model()(x))
for row in profiler.summary():
    print(*row)

transformed = NegSigmSwapXformer(fx.symbolic_trace(Model())).transform()
print(transformed.code.strip())
torch.testing.assert_close(transformed(x), torch.neg(x).sigmoid())
