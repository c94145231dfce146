"""Remarks in words: a line, what they came to, and what their frames are."""

from __future__ import annotations

from collections.abc import Iterator

from fxls.record import ON_REQUEST, QuotedPlace, Subject
from fxls.record.failed_guards import (
    in_the_programs_words,
    is_condition,
    is_global_state,
    without_compilation,
)
from fxls.record.remarks import MOST_NAMED, MOST_VALUES, SourceRemark

__all__ = ["costs_of", "role_of", "title_of"]


def title_of(remark: SourceRemark) -> str:
    """A remark in a line."""
    match remark.subject:
        case Subject.BREAK:
            return f"Graph break: {remark.reason}"
        case Subject.RECOMPILATION:
            return f"Recompiled because {_why_again(remark)}"
        case Subject.SPECIALIZED if remark.about and remark.values:
            return f"Size made constant: {remark.about} is always {remark.values[0]}"
        case Subject.FUSION:
            return f"Not fused: {remark.about}: {remark.reason}"
        case Subject.CUDA_GRAPH:
            return f"No CUDA graph: {remark.reason}"
        case Subject.PATTERN:
            return f"No match of {remark.about}: {remark.reason}"
        case Subject.SEARCHED:
            return f"The pattern {remark.about}: {remark.reason}"
        case Subject.NUMBERS:
            return f"Wrong numbers: {remark.reason}"
        case Subject.LIMIT:
            return f"Not compiled any more: {remark.reason}"
        case Subject.SKIPPED:
            return f"Not compiled: {remark.reason}"
        case Subject.ERROR if remark.compilations:
            return f"An error in torch.compile: {remark.reason}"
        case _:
            return remark.reason


def costs_of(remark: SourceRemark) -> Iterator[str]:
    """What a remark came to, in lines."""
    names = remark.compilations
    if remark.subject in ON_REQUEST:
        if remark.reason in _MEANS:
            yield f"this means: {_MEANS[remark.reason]}"
        if remark.nodes:
            yield f"nodes: {_listed(tuple(map(' and '.join, remark.nodes)))}"
    if names:
        yield f"in {_counted(len(names), 'compilation')}: {_listed(names)}"
    if remark.of_limit is not None:
        count, most = remark.of_limit
        yield f"the function has {count} of at most {most} compilations"
    if remark.without_graph:
        why = f": {remark.why_no_graph}" if remark.why_no_graph else ""
        yield f"no graph: {_listed(remark.without_graph)} runs as it was written{why}"
    if remark.rest:
        count = _counted(len(remark.rest), "compilation")
        yield f"the rest of the function is {count} more: {_listed(remark.rest)}"
    if remark.inside:
        count = _counted(len(remark.inside), "compilation")
        yield (
            f"{count} of Python's own functions inside of it: {_listed(remark.inside)}"
        )


def role_of(frame: QuotedPlace, remark: SourceRemark) -> str:
    """What one of the frames of a remark is, beside the place of it."""
    if frame in remark.callers:
        return f"called here, in {frame.place.function}"
    if remark.subject is Subject.RECOMPILATION and is_global_state(remark.about):
        return f"this is compiled again, {frame.place.function}"
    if remark.subject is Subject.RECOMPILATION:
        return "it is read here"
    if remark.subject is Subject.PATTERN:
        if frame == remark.pattern:
            return f"the pattern is here, in {frame.place.function}"
        return f"what stood in the way is here, in {frame.place.function}"
    if remark.subject is Subject.FUSION:
        return f"the other one is here, in {frame.place.function}"
    if remark.frames[0] == frame:
        return f"it happened here, in {frame.place.function}"
    return f"called here, in {frame.place.function}"


def _why_again(remark: SourceRemark) -> str:
    if not remark.about:
        reason = in_the_programs_words(without_compilation(remark.reason))
        return f"a guard failed: {reason}"
    if is_condition(remark.about):
        return f"it does not hold any more: {remark.about}"
    return f"of {_changed(remark)}"


def _changed(remark: SourceRemark) -> str:
    """What was otherwise, and the values that it had."""
    if not remark.values:
        return remark.about
    first, *others = remark.values
    if not others:
        return f"{remark.about}, which was {first}"
    more = " and others" * (len(others) >= MOST_VALUES)
    said = ", ".join(others[: MOST_VALUES - 1])
    return f"{remark.about}, which was {first}, then {said}{more}"


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    return (
        f"{shown} and {len(names) - MOST_NAMED} more"
        if len(names) > MOST_NAMED
        else shown
    )


def _counted(count: int, what: str, ending: str = "s") -> str:
    return f"{count} {what}{ending * (count != 1)}"


_MEANS = {
    "no shared data": "both use that tensor, and in no step of their loops the same"
    " element of it",
    "memory deps did not match": "a step of the second loop needs other elements than"
    " the same step of the first one makes",
    "intermediate nodes between node1 & node2": "what the second one needs besides is"
    " computed from the first one",
    "will create cycle": "as one kernel they would have to run both before and after"
    " another one",
    "score_fusion_memory_threshold": "they share less memory than makes it worth while",
    "exceeds max fusion": "the kernel would be of more nodes than `max_fusion_size`"
    " allows",
}
"""What torch's own words for a fusion that it did not make are to say."""
