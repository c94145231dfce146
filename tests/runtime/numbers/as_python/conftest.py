"""Of each graph that is kept here, Python is asked what it does in its place."""

from __future__ import annotations

import pytest


@pytest.fixture
def asking() -> str:
    return "python"
