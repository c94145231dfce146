# A condition on a setting of the module can.
import torch
from fxls import engine as fx


class MyModule(torch.nn.Module):
    def __init__(self, do_activation: bool = False):
        super().__init__()
        self.do_activation = do_activation
        self.linear = torch.nn.Linear(512, 512)

    def forward(self, x):
        x = self.linear(x)
        if self.do_activation:
            x = torch.relu(x)
        return x


without_activation = MyModule(do_activation=False)
with_activation = MyModule(do_activation=True)
traced_without_activation = fx.symbolic_trace(without_activation)
print(traced_without_activation.code.strip())
traced_with_activation = fx.symbolic_trace(with_activation)
print(traced_with_activation.code.strip())
