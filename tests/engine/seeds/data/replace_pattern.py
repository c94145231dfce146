# Find and replace, with a pattern and a replacement written as functions.
import torch
from fxls import engine as fx


class M(torch.nn.Module):
    def forward(self, x, w1, w2):
        val1 = torch.neg(w1)
        m1 = torch.cat([val1, w2]).sum()
        val2 = torch.neg(w1)
        m2 = torch.cat([val2, w2]).sum()
        return x + torch.max(m1) + m2


def pattern(a1, a2):
    val1 = torch.neg(a1)
    return torch.cat([val1, a2]).sum()


def replacement(w1, w2):
    return torch.stack([w1, w2])


traced = fx.symbolic_trace(M())
matches = fx.replace_pattern(traced, pattern, replacement)
print(len(matches), [str(match.anchor) for match in matches])
print(traced.code.strip())
