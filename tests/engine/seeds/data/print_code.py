# The generated code is pasted into a subclass, and does the same.
import torch
from fxls import engine as fx


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.x = torch.nn.Parameter(torch.ones(2))

    def forward(self, y):
        return self.x + y


traced = fx.symbolic_trace(M())
print(traced)


class SubclassM(M):
    def forward(self, y):
        x = self.x
        add = x + y
        x = y = None
        return add


pre_trace = M()
post_trace = SubclassM()
print(torch.equal(pre_trace(torch.ones(2)), post_trace(torch.ones(2))))
