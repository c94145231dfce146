"""Classes whose construction can be recorded."""

from __future__ import annotations

from typing import Any

from fxls.engine.tracing import current as active
from fxls.engine.tracing.lowering import proxies_in

__all__ = ["ProxyableClassMeta"]


class ProxyableClassMeta(type):
    """The metaclass of classes whose construction becomes a node, as a call of the class.

    That is so while something is traced and an argument holds a traced value; any other
    time an instance is made as ever, so a constructor with control flow runs untraced.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if active.is_fx_tracing():
            proxy = next(proxies_in((args, kwargs)), None)
            if proxy is not None:
                return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)
