# A module is written as a package, whose code can be edited.
import pathlib
import sys
import tempfile

import torch
from torch import nn

from fxls import engine as fx


class Filter(nn.Module):
    def __init__(self, taps=5):
        super().__init__()
        self.taps = nn.Conv1d(1, 2, taps, padding=taps // 2)

    def forward(self, wave):
        return torch.cat([self.taps(wave), -wave], dim=1).amax(dim=1)


recorded = fx.symbolic_trace(Filter())
wave = torch.sin(torch.arange(16.0)).view(1, 1, 16)
with tempfile.TemporaryDirectory() as folder:
    recorded.to_folder(pathlib.Path(folder, "filter_package"), "Written")
    code = pathlib.Path(folder, "filter_package", "module.py")
    code.write_text(code.read_text().replace("amax", "amin"))
    sys.path.insert(0, folder)
    try:
        from filter_package import Written

        written = Written()
    finally:
        sys.path.remove(folder)
        del sys.modules["filter_package"], sys.modules["filter_package.module"]
print(type(written).__name__, sorted(written.state_dict()))
both = torch.cat([recorded.taps(wave), -wave], dim=1)
print(torch.equal(written(wave), both.amin(dim=1)))
