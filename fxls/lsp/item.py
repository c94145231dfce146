"""What all answers of ours are: structs that msgspec writes as LSP writes its own."""

from __future__ import annotations

import msgspec

__all__ = ["Item"]


class Item(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """Names in camel case; what has its default is left out."""
