# pdb steps from the line of a call into the code that was generated.
import pdb

import torch
from torch import nn

from fxls import engine as fx

layers = nn.Sequential(nn.Tanhshrink(), nn.LogSigmoid())
recorded = fx.GraphModule(layers, fx.Tracer().trace(layers))
start = torch.tensor([0.25])

pdb.set_trace()

finish = recorded(start)
print(finish)
