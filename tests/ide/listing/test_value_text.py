"""Values as an editor writes them."""

from __future__ import annotations

import pytest

from fxls.ide.listing.value_text import long_form
from fxls.listing import Plain


@pytest.mark.parametrize(
    ("text", "kind", "written"),
    [
        ("8", "int", "int 8"),
        ("'mean'", "str", "str 'mean'"),
        # These say their type themselves.
        ("None", "NoneType", "None"),
        ("device(type='cpu')", "device", "device(type='cpu')"),
    ],
)
def test_a_value_that_is_no_tensor_has_its_type_once(
    text: str, kind: str, written: str
) -> None:
    assert long_form(Plain(text, kind)) == written
