"""Lines that make a size of `x`, which is 7 by 3, a constant: which sizes each fixes."""

from __future__ import annotations

__all__ = ["PLANTED", "program"]

_ROWS, _COLUMNS = {"x: size 0": "7"}, {"x: size 1": "3"}
_BOTH = _ROWS | _COLUMNS

PLANTED = {
    "y = x + torch.ones(7, 3)": _BOTH,
    "y = x.reshape(7, -1)": _ROWS,
    "y = x + 1 if x.shape[0] == 7 else x": _ROWS,
    "y = sum(x * i for i in range(x.shape[0]))": _ROWS,
    "y = x @ torch.ones(3, 2)": _COLUMNS,
    "y = torch.ones(2, 7) @ x": _ROWS,
    "y = x + 1 if len(x) == 7 else x": _ROWS,
    "y = x.view(7, 3)": _BOTH,
    "y = x.expand(7, 3) * torch.ones(7, 1)": _BOTH,
    "y = torch.cat([r[None] for r in x])": _ROWS,
    "assert x.shape[0] == 7": _ROWS,
    "y = {7: x}[x.shape[0]]": _ROWS,
    "y = [x] * x.shape[0]": _ROWS,
    "y = x + torch.arange(7)[:, None]": _ROWS,
    "y = torch.nn.functional.linear(x, torch.ones(2, 3))": _COLUMNS,
    "y = torch.where(torch.ones(7, 1) > 0, x, x)": _ROWS,
    "a, b, c, d, e, f, g = x": _ROWS,
    "y = x.unbind()": _ROWS,
    "y = x.split([3, 4])": _ROWS,
    "y = torch.nn.functional.layer_norm(x, (3,))": _COLUMNS,
    "y = torch.stack([x, torch.ones(7, 3)])": _BOTH,
    "y = torch.cat([x, torch.ones(7, 2)], 1)": _ROWS,
    "y = torch.einsum('ij,ik->jk', x, torch.ones(7, 2))": _ROWS,
    "y = x.masked_fill(torch.ones(7, 1) > 0, 0)": _ROWS,
    "y = torch.bmm(x[None], torch.ones(1, 3, 2))": _COLUMNS,
    "y = x.unflatten(0, (7, 1))": _ROWS,
    "torch._check(x.shape[0] == 7)": _ROWS,
    "y = torch.addmm(torch.ones(7, 2), x, torch.ones(3, 2))": _BOTH,
    "y = x.view_as(torch.ones(7, 3))": _BOTH,
    "y = torch.ones(7, 3).copy_(x)": _BOTH,
    "y = x if not x.shape[0] - 7 else x + 1": _ROWS,
    "y = x ** tuple(range(x.shape[0]))[1]": _ROWS,
}


def program() -> str:
    """A function ``f0``, ``f1`` … for each of them, in one module."""
    parts = ["import torch\n"]
    for number, line in enumerate(PLANTED):
        lines = [f"def f{number}(x):", "z = x * 2", line, "return z + 1"]
        parts.append("\n    ".join(lines) + "\n")
    return "\n\n".join(parts)
