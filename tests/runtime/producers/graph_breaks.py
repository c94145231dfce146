"""Small functions that torch.compile breaks on, by torch's number of the reason.

Each is the body of a function of `x` and `w`, two tensors of four ones, of which `w` asks
for a gradient; `y` is ``x + 1``. What the break is about stands between « and ».
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["BREAKS", "numbers", "program"]

_HEAD = """\
import collections, contextlib, copy, dataclasses, functools, itertools, logging
import torch, typing, warnings
import numpy as np
import torch.nn.functional as F


class Plain:
    pass


@torch.compiler.disable
def disabled(x):
    return x + 1


def two(a, b):
    return a


lstm = torch.nn.LSTM(4, 4)
thing = Plain()
handler = logging.getLogger("of a test")
generator = torch.Generator()
"""

BREAKS = {
    "GB0007": "«warnings.warn('x')»",
    "GB0011": "del y; return «y»",
    "GB0025": "y = y * 2; «torch._dynamo.graph_break()»",
    "GB0030": ("from torch._dynamo.comptime import comptime\n«comptime.graph_break()»"),
    "GB0033": "z = 1 if «torch.equal(x, y)» else 2",
    "GB0036": "z = «y.nonzero()» + 1",
    "GB0045": "z = 1 if «y.is_inference()» else 2",
    "GB0046": "z = 1 if «torch.is_inference_mode_enabled()» else 2",
    "GB0056": "«y.data» = torch.ones(3, dtype=torch.int)",
    "GB0059": "z = (1, «print('é')»)",
    "GB0069": "«import nothing_of_this_name»",
    "GB0087": "z = torch.from_numpy(«np.array(['a'])»)",
    "GB0088": "z = [1, «{}['a']»]",
    "GB0090": "z = «torch.nested.nested_tensor([x, x])»",
    "GB0098": "z = «disabled(x * 2)» + 1",
    "GB0104": "z = (w + 1); z = «z.grad_fn»(w)",
    "GB0107": "z = «y.random_(0, 3)»",
    "GB0108": "«y.retain_grad»()",
    "GB0109": "z = [0, «y.tolist()»]",
    "GB0110": "«y.uniform_(**{'from': 0.0, 'to': 1.0})»",
    "GB0112": "z = «torch.add(y)» + 1",
    "GB0117": "z = «y.share_memory_()» + 1",
    "GB0123": "z = y.sum(); «z.backward()»",
    "GB0124": "y = y * «y.sum().item()» + 1",
    "GB0126": "«y.resize_(2)»",
    "GB0127": "«y.resize_as_(x)»",
    "GB0129": "«y.sparse_resize_(2, 1, 1)»",
    "GB0130": "«y.sparse_resize_and_clear_(2, 1, 1)»",
    "GB0142": "with «thing»: y = y + 1",
    "GB0147": "z = «thing()»",
    "GB0152": "z = «itertools.groupby([y, x])»",
    "GB0156": "z = «functools.lru_cache(two)»",
    "GB0159": "z = np.ones(3); z = «z.__version__»",
    "GB0170": "y = y * 2 if «y.sum() > 0» else x",
    "GB0180": "z = «dataclasses.fields(3)»",
    "GB0185": "z = «torch.from_numpy(np.array(['a']))»",
    "GB0190": "z = «getattr(y, y)»",
    "GB0206": "«y.requires_grad» = True",
    "GB0207": "z = «sorted([y, x])»",
    "GB0223": "z = «torch.compile(disabled, 1, 2)»",
    "GB0237": "z = «torch.nn.Parameter(y, requires_grad=x)»",
    "GB0242": "z = torch.empty(8)[::2]; «torch.add(x, x, out=z)»",
    "GB0246": "z = «F.one_hot(x.long())» + 1",
    "GB0247": "z = torch.empty(2); «torch.add(x, x, out=z)»",
    "GB0248": "z = «torch.get_device_module(1, 2)»",
    "GB0250": "z = «np.asarray(y).astype(object)»",
    "GB0258": "z = «collections.deque([1], 2, 3)»",
    "GB0260": "z = «functools.partial()»",
    "GB0262": "with «contextlib.redirect_stdout(None)»: y = y + 1",
    "GB0264": "z = «torch.nn.Linear(4, 4)»",
    "GB0268": "z = «itertools.product([1, 2], foo=3)»",
    "GB0275": "«torch._dynamo.step_unsupported()»",
    "GB0277": "z = «y.to_sparse()»",
    "GB0285": "z = «torch.accelerator.current_stream(1, 2)»",
    "GB0291": "«handler.warning('x')»",
    "GB0294": "«np.save('/dev/null', np.ones(2))»",
    "GB0354": "z = y + «no_such_name»",
    "GB0363": "z = «torch.Generator()»",
    "GB0569": "z = «repr(y)»",
    "GB0811": "z = «list(itertools.groupby([y, x]))»",
    "GB4198": "z = «copy.deepcopy(y)» + 1",
    "GB4271": "«thing.__class__» = Plain",
    "GB4297": "«torch._dynamo.skip_frame()»",
    "GB4347": "z = «next(y)»",
    "GB4393": "z = «issubclass(x, int)»",
    "GB5976": "z = 1 if «y.data_ptr() == x.data_ptr()» else 2",
    "GB7312": "z = «two(y)»",
    "GB7650": "z = «generator.get_state()»",
    "GB8977": "«class A: pass»",
    "GB8985": "«y.requires_grad_()»",
    "GB9137": "z = «typing.List[y]»",
    "GB9186": "z = (w + 1).sum(); z = «torch.autograd.grad(z, w)»",
    "GB9840": "«torch._check(True, 3)»",
}


_OTHERWISE = {
    "2.11": {
        "GB0156": "GB0007",
        "GB0363": "GB0007",
        "GB0569": "GB0059",
        "GB0811": "GB0156",
        "GB4198": "GB0179",
        "GB4347": "GB0160",
        "GB4393": "GB0195",
        "GB5976": "GB0023",
        "GB7650": "GB0156",
        "GB8977": "GB0007",
        "GB8985": "GB0125",
        "GB9137": "",
        "GB9840": "GB0288",
    },
    "2.15": {
        "GB0117": "GB4197",
        "GB0147": "GB0088",
        "GB0206": "GB8985",
        "GB0258": "GB0088",
        "GB0354": "GB0088",
        "GB0811": "GB9493",
        "GB4347": "GB0088",
        "GB7312": "GB0088",
        "GB9840": "",
    },
}
"""By version, the numbers that torch has for the same breaks, at the same expressions;
empty where it does not break there.
"""


def numbers(version: str) -> dict[str, str]:
    """For each function the number of its break, with this version of torch."""
    others = _OTHERWISE.get(".".join(version.split(".")[:2]), {})
    found = {name: others.get(name, name) for name in BREAKS}
    return {name: number for name, number in found.items() if number}


def program(names: Iterable[str] = BREAKS) -> str:
    """Some of them in one module, each as a function with the number for its name."""
    parts = [_HEAD]
    for name in names:
        body = BREAKS[name].replace("«", "").replace("»", "")
        lines = [f"def {name}(x, w):", "y = x + 1", *body.split("\n"), "return y"]
        parts.append("\n    ".join(lines) + "\n")
    return "\n\n".join(parts)
