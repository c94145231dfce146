"""Room for values: as much as is allowed in memory, and the rest in a file."""

from __future__ import annotations

from typing import Any

import torch

from fxls.runtime.numbers.room import Room, Values

any_torch: Any = torch

KB = 1 << 10


def numbers(first: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Whole numbers from the first one on, 4 KB or more of them."""
    return torch.arange(first, first + 2 * KB).to(dtype)


def test_values_that_do_not_fit_are_the_same_when_they_are_asked_for() -> None:
    kinds = (
        torch.float64,
        torch.float32,
        torch.bfloat16,
        torch.float16,
        torch.complex64,
        torch.int64,
        torch.uint8,
    )
    values = Values(room=Room(4 * KB))
    for kind in kinds:
        values[str(kind)] = numbers(3, kind)
    values["transposed"] = numbers(5).view(32, 64).t()
    values["expanded"] = numbers(7)[:1].expand(64, 64)
    values["several"] = (numbers(1), [numbers(2), 8], {"a": numbers(4)})
    values["parted"] = any_torch.max(numbers(9).view(2, KB), 0)

    for kind in kinds:
        assert any_torch.equal(values[str(kind)], numbers(3, kind))
    assert any_torch.equal(values["transposed"], numbers(5).view(32, 64).t())
    assert values["transposed"].stride() == (1, 64)
    assert values["expanded"].stride() == (0, 0)
    one, (two, eight), by_name = values["several"]
    assert any_torch.equal(one, numbers(1))
    assert any_torch.equal(two, numbers(2))
    assert eight == 8
    assert any_torch.equal(by_name["a"], numbers(4))
    assert any_torch.equal(values["parted"].values, numbers(9)[KB:])


def test_no_more_than_is_allowed_stays_in_memory() -> None:
    room = Room(20 * KB)
    values = Values(room=room)

    for at in range(10):
        values[str(at)] = numbers(at)  # 8 KB each
        assert room.in_memory <= 20 * KB

    assert room.in_file == 8 * 8 * KB
    assert any_torch.equal(values["0"], numbers(0))
    assert room.in_memory <= 20 * KB


def test_what_fits_is_the_same_object_and_no_file_is_written() -> None:
    room, value = Room(KB * KB), numbers(0)
    values = Values(room=room)
    values["one"] = value

    assert values["one"] is value
    assert room.in_file == 0


def test_values_that_share_memory_share_it_when_they_come_back() -> None:
    values = Values(room=Room(8 * KB))
    base = numbers(0)
    values["base"], values["view"] = base, base[10:20]
    del base
    values["other"] = numbers(1)  # for which the first have to go

    with values.pinned():
        values["view"].fill_(-1)

        assert values["base"][9:11].tolist() == [9, -1]


def test_what_is_changed_in_place_while_it_is_pinned_stays_changed() -> None:
    values = Values(room=Room(8 * KB))
    values["one"], values["other"] = numbers(0), numbers(1)

    with values.pinned():
        values["one"].add_(values["other"])
    values["third"] = numbers(2)
    values["fourth"] = numbers(3)

    assert any_torch.equal(values["one"], numbers(0) + numbers(1))


def test_a_place_in_the_file_is_used_again_once_its_value_has_gone() -> None:
    room = Room(0)
    values = Values(room=room)
    for at in range(100):
        values["one"] = numbers(at)

    assert any_torch.equal(values["one"], numbers(99))
    assert room.in_file == 100 * 8 * KB
    assert room.of_file <= 3 * 8 * KB


def test_values_are_shared_with_another_mapping_where_they_are() -> None:
    room = Room(0)
    values = Values(room=room)
    values["one"], values["two"] = numbers(1), numbers(2)
    written = room.in_file

    less, more = values.without("one"), values | {"three": numbers(3)}

    assert [*less] == ["two"]
    assert [*more] == ["one", "two", "three"]
    assert less.room is more.room is room
    assert room.in_file == written + 8 * KB
    assert any_torch.equal(more["three"], numbers(3))


def test_a_tensor_without_numbers_stays_as_it_is() -> None:
    room, value = Room(0), torch.empty(4 * KB, device="meta")
    values = Values(room=room)
    values["one"] = value

    assert values["one"] is value
    assert room.in_file == 0
