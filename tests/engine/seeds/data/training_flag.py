# A training flag that is passed to a function is fixed; one in a submodule is not.
import torch
from fxls import engine as fx


class DropoutRepro(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.dropout(x, training=self.training)


traced = fx.symbolic_trace(DropoutRepro())
print(traced.code.strip())
traced.eval()
x = torch.randn(50, 30)
try:
    torch.testing.assert_close(traced(x), x)
except AssertionError as error:
    print(str(error).splitlines()[0])


class DropoutRepro2(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = torch.nn.Dropout()

    def forward(self, x):
        return self.drop(x)


traced = fx.symbolic_trace(DropoutRepro2())
print(traced.code.strip())
traced.eval()
torch.testing.assert_close(traced(x), x)
