"""What a person writes is told from what was installed, on every system."""

from __future__ import annotations

import json

import pytest

from fxls.serving.ownership import is_installed


@pytest.mark.parametrize(
    "path",
    [
        "/work/.venv/lib/python3.11/site-packages/torch/nn/modules/linear.py",
        "/usr/lib/python3/dist-packages/torch/nn/__init__.py",
        "/usr/lib/python3.12/dataclasses.py",
        "/home/me/.pyenv/versions/3.11.7/lib/python3.11/ast.py",
        "C:\\Python311\\Lib\\site-packages\\torch\\nn\\modules\\linear.py",
        json.__file__,
    ],
)
def test_packages_and_the_standard_library_are_installed(path: str) -> None:
    assert is_installed(path)


@pytest.mark.parametrize(
    "path",
    [
        "/work/net.py",
        "/work/lib/net.py",
        "/work/my_site-packages/net.py",
        "/work/python3/lib/net.py",
        "C:\\work\\lib\\net.py",
        "",
    ],
)
def test_all_else_is_somebodys(path: str) -> None:
    assert not is_installed(path)
