# An input that decides which way a program goes is fixed to one value.
import torch

from fxls import engine as fx


def pooled(x, how):
    if how:
        return x.mean(0) if how == "mean" else x.amin(0)
    return x


try:
    fx.symbolic_trace(pooled)
    print("any value")
except fx.proxy.TraceError as error:
    print(str(error).splitlines()[0])
for how in ("least", ""):
    module = fx.symbolic_trace(pooled, concrete_args={"how": how})
    print(module.code)
    print(module(torch.eye(2), how))
