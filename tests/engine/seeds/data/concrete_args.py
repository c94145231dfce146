# An input that decides is fixed to a value.
import torch
from fxls import engine as fx


def f(x, flag):
    if flag:
        return x
    else:
        return x * 2


try:
    fx.symbolic_trace(f)
except fx.proxy.TraceError as error:
    print(str(error).splitlines()[0])

traced = fx.symbolic_trace(f, concrete_args={"flag": True})
print(traced.code.strip())
print(traced(torch.ones(1), True))
