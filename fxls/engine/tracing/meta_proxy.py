"""Proxies that know a fake value of their node as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fxls.engine.ir.node import Node
from fxls.engine.lasting import lasting
from fxls.engine.tracing.proxy import Args, Kwargs, Proxy, TracerBase

__all__ = ["MetaProxy"]


@lasting("fxls.engine.proxy")
class MetaProxy(Proxy):
    """A proxy that also runs each torch function on fake values (``meta["val"]``)."""

    def __init__(
        self, node: Node, tracer: TracerBase | None = None, fake_mode: Any = None
    ) -> None:
        self.fake_mode = fake_mode
        super().__init__(node, tracer)

    def __repr__(self) -> str:
        return f"MetaProxy({self.node.name})"

    @classmethod
    def __torch_function__(
        cls,
        orig_method: Callable[..., Any],
        types: Iterable[type],
        args: Args | None = None,
        kwargs: Kwargs | None = None,
    ) -> MetaProxy:
        args = args or ()
        kwargs = kwargs or {}
        mode = next((a.fake_mode for a in args if isinstance(a, MetaProxy)), None)
        assert mode is not None, "a MetaProxy must be among the arguments"
        proxy = super().__torch_function__(orig_method, types, args, kwargs)
        values = [a.node.meta["val"] if isinstance(a, Proxy) else a for a in args]
        with mode:
            proxy.node.meta["val"] = orig_method(*values, **kwargs)
        return MetaProxy(proxy.node, proxy.tracer, mode)
