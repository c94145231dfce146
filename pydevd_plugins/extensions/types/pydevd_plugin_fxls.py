"""Found by debugpy wherever fxls is installed: it shows tensors as fxls does."""

from _pydevd_bundle.pydevd_extension_api import (
    StrPresentationProvider,
    TypeResolveProvider,
)

from fxls.tensor_view import TensorView

__all__ = ["TensorView"]

StrPresentationProvider.register(TensorView)
TypeResolveProvider.register(TensorView)
