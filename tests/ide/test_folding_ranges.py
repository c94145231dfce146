"""What of a listing folds."""

from __future__ import annotations

from fxls.ide.folding_ranges import folds
from tests.ide.nets import NET, TWICE


def test_modules_and_the_head_fold() -> None:
    assert [(fold.first, fold.last, fold.text) for fold in folds(TWICE)] == [
        (0, 1, "imports"),
        (4, 5, "layer Layer …"),
        (7, 8, "layer Layer …"),
    ]
    assert [(fold.first, fold.last, fold.text) for fold in folds(NET)] == [
        (5, 6, "block Block …")
    ]
