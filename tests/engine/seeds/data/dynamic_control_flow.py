# A condition on an input cannot be traced.
import torch
from fxls import engine as fx


def func_to_trace(x):
    if x.sum() > 0:
        return torch.relu(x)
    else:
        return torch.neg(x)


try:
    fx.symbolic_trace(func_to_trace)
except fx.proxy.TraceError as error:
    print(str(error).splitlines()[0])
