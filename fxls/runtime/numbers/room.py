"""Room for values: in memory up to a bound, and beyond it in a file."""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
)
from contextlib import AbstractContextManager
from typing import IO, Any, cast

import torch

from fxls.runtime.torch_private import version_of

__all__ = ["NoRoom", "Room", "Slot", "Values", "give_memory_back", "value_of"]

any_torch: Any = torch

_LEAST = 4 << 10
"""Smaller values stay where they are: they come to little, and to find them takes time."""
_MMAP_THRESHOLD = -3
"""``M_MMAP_THRESHOLD`` of ``malloc.h``."""
_LARGE = 1 << 20
_PART = 0.5
"""So much of what is free on the disk the file takes at most."""


class NoRoom(Exception):
    """A value fits neither into memory nor into the file; the message is a clause."""


class Room:
    """Keeps the memory of values, of which some share it; threads may ask at once.

    What was not asked for longest goes into a file without a name, which ends with the
    process; but nothing goes while values are `pinned`.
    """

    def __init__(self, most_bytes: int) -> None:
        """Of at most so many bytes in memory; the file is where temporary files are."""
        self.most_bytes = most_bytes
        self.in_file = 0
        """So many bytes went into the file, each time counted."""
        self._lock = threading.RLock()
        self._here: OrderedDict[int, _Memory] = OrderedDict()
        """What is in memory, by where it begins; that asked for last stands last."""
        self._dead: deque[_Memory] = deque()
        self.in_memory = 0
        """So many bytes."""
        self._pins = 0
        self._file: IO[bytes] | None = None
        self.of_file = 0
        """How long the file is."""
        self._free: dict[int, list[int]] = {}
        """Places in the file that nobody needs any more, by their size."""

    def hold(self, value: Any) -> Any:
        """What stands for a value until `value_of` gives it again; raises `NoRoom`."""
        with self._lock:
            held = _mapped(value, self._slot)
            self._settle()
        return held

    @contextlib.contextmanager
    def pinned(self) -> Generator[None]:
        """Keep what is asked for in memory, so that it can be changed in place."""
        self._pins += 1
        try:
            yield
        finally:
            self._pins -= 1

    def _slot(self, value: Any) -> Any:
        if not _may_move(value):
            return value
        storage = value.untyped_storage()
        with self._lock:
            known = self._here.get(storage.data_ptr())
            if known is None or known.size != storage.nbytes():
                known = _Memory(storage, value.device)
                self._here[known.begin] = known
                self.in_memory += known.size
            return Slot(self, known, value)

    def tensor(self, slot: Slot) -> Any:
        """A tensor, read from the file where it is not here: until it goes there again it
        is the same object.
        """
        with self._lock:
            memory = slot.memory
            storage = self._found(memory)
            known = memory.tensors.get(id(slot))
            if known is None:
                made = any_torch.empty(0, dtype=slot.dtype, device=memory.device)
                made.set_(storage, *slot.form)
                known = memory.tensors[id(slot)] = made, version_of(made)
            self._settle(keeping=memory)
            return known[0]

    def _found(self, memory: _Memory) -> Any:
        if memory.storage is None:
            memory.storage = self._read(memory)
            memory.begin = memory.storage.data_ptr()
            self._here[memory.begin] = memory
            self.in_memory += memory.size
        else:
            self._here.move_to_end(memory.begin)
        return memory.storage

    def let_go(self, memory: _Memory) -> None:
        """Nobody has a use for it any more."""
        self._dead.append(memory)  # it may be said at any moment, also in `_settle`

    def _settle(self, keeping: _Memory | None = None) -> None:
        """Write into the file what is too much."""
        while self._dead:
            gone = self._dead.popleft()
            if gone.slots:
                continue  # another one of the same memory was made
            if gone.storage is not None:
                self._leave(gone)
            if gone.place >= 0:
                self._free.setdefault(gone.size, []).append(gone.place)
                gone.place = -1
        while self.in_memory > self.most_bytes and self._here and not self._pins:
            memory = next(iter(self._here.values()))
            if memory is keeping:
                return  # it stands last
            if memory.place < 0 or memory.is_changed():
                self._write(memory)
            self._leave(memory)

    def _leave(self, memory: _Memory) -> None:
        if self._here.pop(memory.begin, None) is not None:
            self.in_memory -= memory.size
        memory.storage = None
        memory.tensors.clear()

    # -- the file ----------------------------------------------------------------

    def _write(self, memory: _Memory) -> None:
        flat = _flat_of(memory.storage).cpu()
        place = memory.place
        if place < 0:
            known = self._free.get(memory.size)
            place = known.pop() if known else self.of_file
        try:
            file = self._opened()
            free = shutil.disk_usage(tempfile.gettempdir()).free
            if place == self.of_file and memory.size > _PART * free:
                raise NoRoom(self._said("there is too little room on the disk"))
            file.seek(place)
            _whole(file.write, _view(flat))
        except OSError as error:
            raise NoRoom(self._said(f"the file for the rest: {error}")) from None
        memory.place, memory.was_changed = place, False
        self.of_file = max(self.of_file, place + memory.size)
        self.in_file += memory.size

    def _read(self, memory: _Memory) -> Any:
        flat = torch.empty(memory.size, dtype=torch.uint8)
        assert self._file is not None, "it is in the file"
        self._file.seek(memory.place)
        _whole(cast("Any", self._file).readinto, _view(flat))
        return flat.to(memory.device).untyped_storage()

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # it ends with this object
            weakref.finalize(self, self._file.close)
        return self._file

    def _said(self, why: str) -> str:
        return f"its values need more than {self.most_bytes >> 20} MB, and {why}"


class _Memory:
    """The memory of some values: here, in the file, or in both."""

    __slots__ = (
        *("begin", "device", "place", "size", "slots", "storage", "tensors"),
        "was_changed",
    )

    def __init__(self, storage: Any, device: torch.device) -> None:
        self.storage: Any = storage
        self.begin: int = storage.data_ptr()
        self.size: int = storage.nbytes()
        self.device = device
        self.place = -1
        """Where it is in the file; below 0 where it never was."""
        self.slots = 0
        self.tensors: dict[int, tuple[Any, int]] = {}
        """While it is here, by the slot of each, and how often they were changed."""
        self.was_changed = False
        """Whether one was, of those that are no more."""

    def is_changed(self) -> bool:
        """Whether it may be another one than in the file."""
        return self.was_changed or any(
            version_of(one) != version for one, version in self.tensors.values()
        )


class Slot:
    """A tensor that may be in the file; it shares memory with those with which it did so
    when it was put in.
    """

    __slots__ = ("_room", "dtype", "form", "memory", "nbytes")

    def __init__(self, room: Room, memory: _Memory, value: Any) -> None:
        memory.slots += 1
        memory.tensors[id(self)] = value, version_of(value)
        self._room = room
        self.memory = memory
        self.dtype: torch.dtype = value.dtype
        self.form = value.storage_offset(), tuple(value.shape), value.stride()
        self.nbytes: int = value.nbytes

    def __del__(self) -> None:
        memory = self.memory
        one, version = memory.tensors.pop(id(self), (None, 0))
        if one is not None and version_of(one) != version:
            memory.was_changed = True
        memory.slots -= 1
        if not memory.slots:
            self._room.let_go(memory)

    @property
    def tensor(self) -> torch.Tensor:
        """The tensor, in memory."""
        return self._room.tensor(self)


def value_of(held: Any) -> Any:
    """The value that something stands for that was held."""
    return _mapped(held, lambda one: one.tensor if isinstance(one, Slot) else one)


def give_memory_back() -> None:
    """From now on give the memory of large values back to the system when they go: else
    the C library, if it is GNU's, keeps it, as it learns from the first that goes.
    """
    mallopt: Any = None
    with contextlib.suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE)


class Values(MutableMapping[str, Any]):
    """Values by name, of which those are in a file that are too many."""

    __slots__ = ("_held", "room")

    def __init__(
        self, given: Mapping[str, Any] | None = None, room: Room | None = None
    ) -> None:
        """With the values of another mapping, and in the same room, if that has one."""
        self.room = room or getattr(given, "room", None)
        self._held: dict[str, Any] = {}
        self.take(given or {})

    def take(
        self, given: Mapping[str, Any], names: Iterable[str] | None = None
    ) -> None:
        """Have values of another mapping as well, whether they are here or not."""
        is_same = isinstance(given, Values) and given.room is self.room
        for name in given if names is None else names:
            if is_same:
                self._held[name] = cast("Values", given)._held[name]
            else:
                self[name] = given[name]

    @classmethod
    def of_held(cls, held: Mapping[str, Any], room: Room | None) -> Values:
        """With values that a room holds already."""
        made = cls(room=room)
        made._held.update(held)
        return made

    def without(self, *names: str) -> Values:
        """The same, without some."""
        made = Values(room=self.room)
        made.take(self, [name for name in self._held if name not in names])
        return made

    def __or__(self, other: Mapping[str, Any]) -> Values:
        made = Values(self, self.room or getattr(other, "room", None))
        made.take(other)
        return made

    def held(self, name: str) -> Any:
        """What stands for a value; None where there is none."""
        return self._held.get(name)

    def all_held(self) -> Iterable[Any]:
        """What stands for each value."""
        return self._held.values()

    def pinned(self) -> AbstractContextManager[None]:
        """Keep values in memory while they may be changed in place."""
        return contextlib.nullcontext() if self.room is None else self.room.pinned()

    def __getitem__(self, name: str) -> Any:
        held = self._held[name]
        return held if self.room is None else value_of(held)

    def __setitem__(self, name: str, value: Any) -> None:
        self._held[name] = value if self.room is None else self.room.hold(value)

    def __delitem__(self, name: str) -> None:
        del self._held[name]

    def __contains__(self, name: object) -> bool:
        return name in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


def _mapped(value: Any, of: Callable[[Any], Any]) -> Any:
    """A value with another one for each part of its lists, tuples and dicts."""
    if type(value) is dict:
        items = cast("dict[Any, Any]", value).items()
        return {key: _mapped(one, of) for key, one in items}
    is_named = type(value).__module__ == "torch.return_types"
    if type(value) is tuple or type(value) is list or is_named:
        several = cast("Any", value)
        return type(several)([_mapped(one, of) for one in several])
    return of(value)


def _may_move(value: Any) -> bool:
    """Whether a value is a tensor like any other, which can be made of its memory again."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.is_meta:
        return False
    is_plain = value.layout is torch.strided and not (
        value.requires_grad or value.is_quantized or value.is_conj() or value.is_neg()
    )
    with contextlib.suppress(RuntimeError, NotImplementedError):
        return is_plain and value.untyped_storage().nbytes() >= _LEAST
    return False


def _flat_of(storage: Any) -> Any:
    flat: Any = torch.empty(0, dtype=torch.uint8, device=storage.device)
    return flat.set_(storage)


def _view(flat: Any) -> memoryview:
    """The memory of a tensor of bytes on the CPU."""
    array = (ctypes.c_char * flat.numel()).from_address(flat.data_ptr())
    return memoryview(array).cast("B")


def _whole(pass_on: Callable[[memoryview], int | None], view: memoryview) -> None:
    """Write or read all of it: one call takes 2 GB at most."""
    while view:
        count = pass_on(view)
        if not count:
            raise OSError("it ends too early")
        view = view[count:]
