"""Functions of `x` and `w`, 64 by 64, in which inductor leaves a fusion out.

In each, the first ``«…»`` is where a tensor is computed, and the second where it is used;
where there is only one, it does both.
"""

from __future__ import annotations

__all__ = ["PLANTED", "program"]

_LIBRARY = "inductor calls {}, and fuses nothing into it"
_ATTENTION = "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default"
_NOTHING_SHARED = "no shared data"
_UNSAID = "inductor does not say why; one {}, and the other one {}"

PLANTED = {
    "y = «x @ w»; return «y.relu()»": {
        ("mm and relu", _LIBRARY.format("extern_kernels.mm"))
    },
    "y = «x.relu()»; return «y @ w»": {
        ("relu and mm", _LIBRARY.format("extern_kernels.mm"))
    },
    "y = «F.conv2d(x[None, None], w[None, None])»; return «y.cos()»": {
        ("convolution and cos", _LIBRARY.format("extern_kernels.convolution"))
    },
    "y, _ = «x.sort()»; return «y * 2»": {
        ("sort and mul", _LIBRARY.format("torch.ops.aten.sort.stable"))
    },
    "q = x[None, None]; y = «F.scaled_dot_product_attention(q, q, q)»; return «y * 2»": {
        (
            "_scaled_dot_product_flash_attention_for_cpu and mul",
            _LIBRARY.format(_ATTENTION),
        )
    },
    "a = «x.sum(0)»; b = «x.sum(1)»; return a, b": {
        ("sum and sum, which both read an input", _NOTHING_SHARED)
    },
    "s = «x.sum(0)»; return «x / s»": {("sum and div", _NOTHING_SHARED)},
    "return «x.softmax(0)»": {
        ("amax and sub", _NOTHING_SHARED),
        ("exp and sum", _NOTHING_SHARED),
        ("sum and div", _NOTHING_SHARED),
        ("exp and div", "intermediate nodes between node1 & node2"),
    },
    "y = «x.sin()»; return y, «y.t().contiguous()» + w": {
        ("sin and clone", _NOTHING_SHARED)
    },
    "s = «x.sum()»; return «x - s»": {
        ("sum and sub", _UNSAID.format("reduces 4096", "loops over 4096"))
    },
    "y = «x.cos()»; return y, «y.flip(0)»": {("cos and rev", _NOTHING_SHARED)},
}
"""What is said of each: of which operators, and why."""


def program() -> str:
    """A module with a function for each."""
    functions = (
        f"def f{number}(x, w):\n    {bare(text)}\n"
        for number, text in enumerate(PLANTED)
    )
    return "\n\n".join(("from torch.nn import functional as F", *functions))


def bare(text: str) -> str:
    """A function without its brackets."""
    for bracket in "«»":
        text = text.replace(bracket, "")
    return text
