"""What a program sets for all of torch, and a graph does not say: of what dtype and on
which device torch makes tensors, and whether it may give another result each time.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch

__all__ = ["Defaults"]

any_torch: Any = torch


class Defaults(NamedTuple):
    """These settings at one moment; torch compiles anew when they change."""

    dtype: torch.dtype
    device: torch.device
    is_deterministic: bool
    is_warning: bool
    """Whether operators only warn that cannot be deterministic."""

    @classmethod
    def now(cls) -> Defaults:
        """What is set at this moment."""
        return cls(
            any_torch.get_default_dtype(),
            any_torch.get_default_device(),
            any_torch.are_deterministic_algorithms_enabled(),
            any_torch.is_deterministic_algorithms_warn_only_enabled(),
        )

    @contextmanager
    def in_force(self) -> Generator[None]:
        """Let them be so again for a while."""
        before = Defaults.now()
        with ExitStack() as stack:
            if before.device != self.device:
                stack.enter_context(self.device)
            stack.callback(before._set)
            self._set()
            yield

    def _set(self) -> None:
        any_torch.set_default_dtype(self.dtype)
        any_torch.use_deterministic_algorithms(
            self.is_deterministic, warn_only=self.is_warning
        )
