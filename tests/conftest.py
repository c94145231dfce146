"""How random cases are drawn, for all tests: the same in every run, at any speed."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A case that is drawn for the first time must not fail somebody else's change, and a
# machine that is busy is no fault.
settings.register_profile(
    "same",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# Others each time: pytest --hypothesis-profile=hunt.
settings.register_profile(
    "hunt", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")
