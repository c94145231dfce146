"""Traces the decoder and runs what was generated.

Debug this file: step into the last line but one, or set a breakpoint in the listing
that ``fxls trace examples/gpt.py`` made.
"""

import torch
from gpt import GPT, Config

import fxls
from fxls import engine as fx

fxls.install()
gm = fx.symbolic_trace(GPT(Config(layers=2)))
logits = gm(torch.randint(0, 256, (1, 16)))
print("logits", tuple(logits.shape))
