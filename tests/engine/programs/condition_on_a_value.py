# What depends on the numbers of an input cannot be traced; the error says where.
import torch

from fxls import engine as fx


def damped(signal, limit):
    for factor in (0.5, 0.25):
        if signal.abs().max() > limit:
            signal = signal * factor
    return signal


print(damped(torch.tensor([5.0, -3.0]), 2))
try:
    fx.symbolic_trace(damped)
except fx.proxy.TraceError as error:
    print(str(error).partition("\n")[0])
