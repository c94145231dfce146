"""Searches the settings of torch under which a program is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fxls.cli.searches.trials import Answer, Outcome, Trials, smallest

__all__ = ["SearchedSettings", "search_settings"]


@dataclass(frozen=True, slots=True)
class SearchedSettings:
    """What came of running a program under other settings."""

    usual: Outcome
    """As the program sets them."""
    found: Mapping[str, Any]
    """As few as are enough for the program to be right; empty where none are."""
    tried: int
    """How many settings were looked at."""
    runs: int
    open: int
    """In how many runs nobody could say."""

    @property
    def is_good(self) -> bool:
        """Whether nothing was wrong to begin with."""
        return self.usual.answer is Answer.GOOD


def search_settings(trials: Trials) -> SearchedSettings:
    """Find out under which settings nothing is wrong any more."""
    from fxls.runtime.inductor.other_settings import OTHER_SETTINGS

    def is_right(names: Any) -> bool:
        values = {name: OTHER_SETTINGS[name] for name in names}
        return trials.run(values).answer is Answer.GOOD

    usual, found = trials.run(), None
    if usual.answer is Answer.BAD:
        found = smallest([*OTHER_SETTINGS], is_right)
    return SearchedSettings(
        usual,
        {name: OTHER_SETTINGS[name] for name in found or ()},
        len(OTHER_SETTINGS),
        trials.runs,
        trials.open,
    )
