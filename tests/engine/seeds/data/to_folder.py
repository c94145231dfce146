# A module is written as a package that can be edited.
import sys
import tempfile

import torch
from fxls import engine as fx


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 3)

    def forward(self, x):
        return self.linear(x).relu()


m = fx.symbolic_trace(M())
with tempfile.TemporaryDirectory() as folder:
    m.to_folder(f"{folder}/seed_folder", "Bar")
    sys.path.insert(0, folder)
    from seed_folder import Bar

    y = Bar()
    sys.path.remove(folder)
    del sys.modules["seed_folder"], sys.modules["seed_folder.module"]
print(type(y).__name__, torch.equal(y(torch.ones(2)), m(torch.ones(2))))
