"""Whether a value is as near to what float64 gives as its precision lets it be.

The reference has the inputs that the value was really computed of. What precision
explains is found by trying: the same computation in its own dtype, once as it is and
once with its inputs moved by as much as one rounding moves them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import torch

from fxls.runtime.numbers.judging.elements import is_short, plain, share_of_others
from fxls.runtime.numbers.judging.magnitudes import PART, small_parts
from fxls.verdicts.comparison import Evidence

__all__ = [
    "ALL_TOGETHER",
    "LENIENT",
    "OF_CODE",
    "SHARE",
    "STRICT",
    "Judged",
    "Roundings",
    "Verdict",
    "explained",
    "judged",
    "nudged",
]

any_torch: Any = torch

ALL_TOGETHER = "all elements together are further away than precision explains"
"""Why a value is wrong whose worst element is not."""
_WORST = 16.0
"""So much worse than the worst element of the known computation another may be: sums in
another order, and other approximations of the same function, stay below."""
_MEAN = 6.0
"""The same for the root of the mean square, which chance changes less."""


class Roundings(NamedTuple):
    """How many roundings are explained whatever the known computation does."""

    worst: float
    """Of the largest value, for the worst element."""
    mean: float
    """Of all values, for the mean."""
    worst_single: float = 0.0
    """As `worst`, and besides it, of float32 where the value has fewer digits."""
    mean_single: float = 0.0

    def of_worst(self, dtype: torch.dtype) -> float:
        """How far the worst element may be off, as a part of the largest value."""
        return self.worst * _eps(dtype) + self.worst_single * _single(dtype)

    def of_mean(self, dtype: torch.dtype) -> float:
        """How far all elements may be off together, as a part of all values."""
        return self.mean * _eps(dtype) + self.mean_single * _single(dtype)


def _eps(dtype: torch.dtype) -> float:
    return float(any_torch.finfo(dtype).eps)


def _single(dtype: torch.dtype) -> float:
    return min(_eps(dtype), _eps(torch.float32))


STRICT = Roundings(8.0, 3.0)
LENIENT = Roundings(64.0, 32.0)
"""For what is compared without trying how far roundings of its inputs move it."""
OF_CODE = Roundings(8.0, 3.0, 56.0, 29.0)
"""For code that has functions as ``erf`` by approximations of its own, in float32."""
_BY_CHANCE = 8
"""So many whole numbers may differ where no rounding that was tried decides one."""
_FEW = 16
"""With fewer elements the mean says no more than the worst."""
SHARE = 0.1
"""Of whole numbers and truth values so many may differ, where a rounding before them may
decide, and of numbers of eight bits, one of which is an eighth away from the next."""


class Verdict(enum.Enum):
    """What is to be said of a value in a word."""

    RIGHT = "right"
    WRONG = "wrong"
    OPEN = "open"
    """Nobody can say."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What is to be said of a value."""

    verdict: Verdict
    evidence: Evidence | None = None


def judged(
    actual: torch.Tensor,
    own: torch.Tensor,
    moved: Callable[[], torch.Tensor | None],
    exact: Callable[[], torch.Tensor | None],
    roundings: Roundings = STRICT,
    otherwise: Callable[[], torch.Tensor | None] = lambda: None,
    is_rounded: Callable[[], bool] = lambda: True,
) -> Judged:
    """Judge a value by what the graph before gives of the same inputs.

    `own` is that in its own dtype, `moved` with inputs moved by a rounding, `exact` in
    float64, and `otherwise` with roundings that eager does not do; `is_rounded` says
    whether a rounding may decide a whole number. They are asked only where they are
    needed.
    """
    found = _judged(actual, own, moved, exact, roundings, is_rounded)
    if found.verdict is not Verdict.WRONG or actual.shape != own.shape:
        return found
    other = otherwise()
    if other is None or other.shape != own.shape or other.dtype != own.dtype:
        return found
    return _judged(actual, other, moved, exact, roundings, is_rounded)


def _judged(
    actual: torch.Tensor,
    own: torch.Tensor,
    moved: Callable[[], torch.Tensor | None],
    exact: Callable[[], torch.Tensor | None],
    roundings: Roundings,
    is_rounded: Callable[[], bool],
) -> Judged:
    # A pass may move a value to another device.
    actual = actual.to(own.device)
    if actual.shape != own.shape:
        return Judged(Verdict.WRONG, _shapes(actual, own))
    if actual.dtype != own.dtype:
        return Judged(Verdict.WRONG, _dtypes(actual, own))
    dtype = own.dtype.to_real()
    if own.is_meta:
        return Judged(Verdict.RIGHT)  # it has no numbers
    actual, own = plain(actual), plain(own)
    if any_torch.equal(actual, own) or not actual.numel():
        return Judged(Verdict.RIGHT, _same(own))
    reference = exact()
    reference = None if reference is None else plain(reference)
    if reference is None or reference.shape != own.shape:
        return Judged(Verdict.OPEN)
    if not own.is_floating_point():
        share = SHARE if is_rounded() else 0.0
        found = _judged_whole(actual, own, reference, moved, share)
        return _with_sides(found, actual, own)
    other = moved()
    other = None if other is None else plain(other)
    if is_short(dtype):
        return _with_sides(_judged_short(actual, own, other, dtype), actual, own)
    found = _judged_float(actual, own, other, reference, roundings, dtype)
    return _with_sides(found, actual, own)


def _with_sides(found: Judged, actual: torch.Tensor, own: torch.Tensor) -> Judged:
    """With what both are where they differ most."""
    if found.evidence is None:
        return found
    off = (actual.double() - own.double()).abs()
    off = off.nan_to_num(nan=float("inf")).masked_fill(actual == own, 0.0)
    at = int(off.argmax())
    one, other = own.reshape(-1)[at].item(), actual.reshape(-1)[at].item()
    place: list[int] = []
    for size in reversed(own.shape):
        at, rest = divmod(at, size)
        place.insert(0, rest)
    sides = (_number(one), _number(other), str(place))
    return Judged(found.verdict, msgspec.structs.replace(found.evidence, sides=sides))


def _number(value: float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def explained(
    own: torch.Tensor,
    moved: torch.Tensor | None,
    exact: torch.Tensor | None,
    roundings: Roundings,
    *,
    is_mean: bool = False,
) -> float | None:
    """How far the worst element of another value may be from that of the graph before, in
    its own dtype; of whole numbers and truth values, the share that may differ.

    With `is_mean` it is the root of the mean square of all elements.
    """
    if not own.is_floating_point() and not own.is_complex():
        return SHARE
    dtype = own.dtype.to_real()
    own = plain(own)
    exact = None if exact is None else plain(exact)
    moved = None if moved is None else plain(moved)
    if exact is None or exact.shape != own.shape:
        return None
    bounds = _Bounds.of(own, moved, exact, roundings, dtype)
    if is_mean:
        return bounds.mean + bounds.usual_mean
    return bounds.worst + bounds.usual


def _judged_float(
    actual: torch.Tensor,
    own: torch.Tensor,
    moved: torch.Tensor | None,
    reference: torch.Tensor,
    roundings: Roundings,
    dtype: torch.dtype,
) -> Judged:
    if (lost := _lost(actual, own, moved, reference)) is not None:
        return Judged(Verdict.WRONG, lost)
    bounds = _Bounds.of(own, moved, reference, roundings, dtype)
    away = (actual.double() - reference.double()).abs()
    away = any_torch.nan_to_num(away, nan=float("inf"), posinf=float("inf"))
    off = away[bounds.counts]
    if not off.numel():
        return Judged(Verdict.RIGHT)
    error, known, allowed = float(off.max()), bounds.usual, bounds.worst
    reason = "the worst element is further away than precision explains"
    wrong = error > allowed
    if not wrong and off.numel() >= _FEW and (mean := _rms(off)) > bounds.mean:
        wrong, error, allowed, known = True, mean, bounds.mean, bounds.usual_mean
        reason = ALL_TOGETHER
    evidence = Evidence(
        _name(dtype), tuple(actual.shape), error, known, allowed, bounds.scale, reason
    )
    if wrong:
        return Judged(Verdict.WRONG, evidence)
    for small in small_parts(reference.double().abs(), bounds.counts):
        among = _Bounds.of(own, moved, reference, roundings, dtype, small)
        error, allowed = float(away[small].max()), max(among.worst, PART * among.scale)
        if error > allowed:
            reason = (
                f"of the {int(small.sum())} elements up to {among.scale:.3g} the worst"
                " is further away than precision explains"
            )
            form = (_name(dtype), tuple(actual.shape))
            among = Evidence(*form, error, among.usual, allowed, among.scale, reason)
            return Judged(Verdict.WRONG, among)
    return Judged(Verdict.RIGHT, evidence)


def _judged_short(
    actual: torch.Tensor,
    own: torch.Tensor,
    moved: torch.Tensor | None,
    dtype: torch.dtype,
) -> Judged:
    """Numbers of eight bits: where a rounding before them decides, few are others."""
    usual = 0.0 if moved is None else share_of_others(own, moved)
    differ, allowed = share_of_others(own, actual), SHARE + 2 * usual
    evidence = Evidence(
        _name(dtype),
        tuple(own.shape),
        float((actual - own).abs().nan_to_num(nan=float("inf")).max()),
        0.0,
        0.0,
        float(own.abs().nan_to_num().max()),
        f"{differ:.0%} of the elements differ, where {usual:.0%} do by roundings",
    )
    return Judged(Verdict.WRONG if differ > allowed else Verdict.RIGHT, evidence)


def _lost(
    actual: torch.Tensor,
    own: torch.Tensor,
    moved: torch.Tensor | None,
    reference: torch.Tensor,
) -> Evidence | None:
    """What is to be said where a value is not infinite that is in float64 as well, as
    what a mask leaves out is, or not NaN; None where there is none.
    """
    sure = own.isinf() & (reference.double() == own.double())
    none = own.isnan() & reference.isnan()
    if moved is not None and moved.shape == own.shape:
        sure &= moved == own
        none &= moved.isnan()
    found = (
        (sure, sure & (actual != own), "infinite elements are others"),
        (none, none & ~actual.isnan(), "NaN are numbers"),
    )
    for of, lost, what in found:
        if lost.any():
            reason = f"{int(lost.sum())} of {int(of.sum())} {what}"
            form = (_name(own.dtype), tuple(actual.shape))
            return Evidence(*form, float("inf"), 0.0, 0.0, 0.0, reason)
    return None


@dataclass(frozen=True, slots=True)
class _Bounds:
    """How far a value may be from float64, of the elements that count."""

    counts: torch.Tensor
    """Where the known computation has no finite value, none is expected."""
    scale: float
    usual: float
    usual_mean: float
    worst: float
    mean: float

    @classmethod
    def of(
        cls,
        own: torch.Tensor,
        moved: torch.Tensor | None,
        reference: torch.Tensor,
        roundings: Roundings,
        dtype: torch.dtype,
        among: torch.Tensor | None = None,
    ) -> _Bounds:
        """What the known computation, in its own dtype and moved by roundings, allows;
        of all elements, or of those `among` them.
        """
        kind = any_torch.finfo(dtype)
        limit = kind.max / 2
        counts = own.isfinite() & reference.isfinite() & (reference.abs() < limit)
        counts = counts if among is None else counts & among
        wide = reference.double()
        usual = (own.double() - wide).abs()[counts]
        if not usual.numel():
            return cls(counts, 0.0, 0.0, 0.0, kind.tiny, kind.tiny)
        spread = usual.new_zeros(usual.shape)
        if moved is not None and moved.shape == own.shape:
            spread = (moved.double() - own.double()).abs()[counts]
            spread = any_torch.nan_to_num(spread, posinf=limit)
        sizes = wide.abs()[counts]
        scale, known = float(sizes.max()), float(usual.max())
        worst = _WORST * (known + float(spread.max()))
        worst += roundings.of_worst(dtype) * scale + kind.tiny
        known_mean = _rms(usual)
        mean = _MEAN * (known_mean + _rms(spread))
        mean += roundings.of_mean(dtype) * _rms(sizes) + kind.tiny
        return cls(counts, scale, known, known_mean, worst, mean)


def _judged_whole(
    actual: torch.Tensor,
    own: torch.Tensor,
    reference: torch.Tensor,
    moved: Callable[[], torch.Tensor | None],
    share: float,
) -> Judged:
    other = actual != own
    differ = float(other.double().mean())
    is_open = not any_torch.equal(own.double(), reference.double())
    if not is_open and differ <= share:
        by_roundings = moved()
        is_open = by_roundings is None or by_roundings.shape != own.shape
        if by_roundings is not None and not is_open:
            flipped = int((by_roundings != own).sum())
            is_open = int(other.sum()) <= _BY_CHANCE + _WORST * flipped
    if is_open:
        return Judged(Verdict.OPEN)
    evidence = Evidence(
        _name(own.dtype),
        tuple(own.shape),
        float((actual.double() - reference.double()).abs().max()),
        0.0,
        0.0,
        float(reference.double().abs().max()),
        f"{_share(other)} elements differ, and rounding decides none of them",
    )
    return Judged(Verdict.WRONG, evidence)


def _share(other: torch.Tensor) -> str:
    """How many differ, so that few of many are not nothing."""
    count, of = int(other.sum()), other.numel()
    return f"{count / of:.0%} of the" if count > SHARE * of else f"{count} of {of}"


def nudged(value: torch.Tensor, seed: int) -> torch.Tensor:
    """A tensor whose numbers are moved by up to one rounding, each in its own way."""
    if value.is_complex() and not value.is_sparse:
        return any_torch.view_as_complex(nudged(plain(value).contiguous(), seed))
    if not value.is_floating_point() or value.is_sparse:
        return value
    generator = any_torch.Generator(device="cpu").manual_seed(seed)
    random = any_torch.rand(value.shape, generator=generator, dtype=torch.float64)
    by = (random.to(value.device) * 2 - 1) * any_torch.finfo(value.dtype).eps
    return (value.double() * (1 + by)).to(value.dtype)


def _rms(value: torch.Tensor) -> float:
    return float(value.square().mean().sqrt())


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _same(own: torch.Tensor) -> Evidence:
    form = (_name(own.dtype), tuple(own.shape))
    return Evidence(*form, 0.0, 0.0, 0.0, 0.0, "each element is as it was before")


def _dtypes(actual: torch.Tensor, own: torch.Tensor) -> Evidence:
    is_, was = _name(actual.dtype), _name(own.dtype)
    reason = f"it is {is_}, and should be {was}"
    form = (is_, tuple(actual.shape))
    return Evidence(*form, float("inf"), 0.0, 0.0, 0.0, reason)


def _shapes(actual: torch.Tensor, own: torch.Tensor) -> Evidence:
    was, is_ = tuple(own.shape), tuple(actual.shape)
    reason = f"it has the shape {is_}, and should have {was}"
    return Evidence(_name(own.dtype), is_, float("inf"), 0.0, 0.0, 0.0, reason)
