"""``torch.compile(model, backend="fxls")``: what runs is the listing.

torch finds it by the entry point in pyproject.toml. The option ``backend`` says what is
done with each graph after it became a listing: ``"eager"`` (the default) runs it,
``"aot_eager"`` runs the forward and the backward graph that AOTAutograd makes of it,
``"inductor"`` or any other backend compiles it. Further options are that backend's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fxls.runtime.installing import current, install
from fxls.runtime.producers.node_by_node import WATCHED, running
from fxls.runtime.torch_private import lookup_backend

__all__ = ["backend"]


def backend(
    gm: Any, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Compile one graph of torch.compile's; installs the runtime when it is not."""
    if current() is None:
        install()
        if (installation := current()) is not None:
            # Dynamo captured this one before it was followed.
            installation.dynamo.captured_before(gm)
    installation = current()
    watches = installation is not None and installation.running_code.is_watched
    rest = dict(options or {})
    inner: Any = lookup_backend(rest.pop("backend", "eager"))
    inner = running(inner, WATCHED if watches else "")
    return inner(gm, example_inputs, **({"options": rest} if rest else {}))
