"""What a client sets, at the start or later; `docs/protocol.md` describes it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec

from fxls.entry import ORDER, Producer

__all__ = [
    "FORMAT",
    "FolderSettings",
    "Lenses",
    "Programs",
    "Remarks",
    "Settings",
    "SettingsError",
    "read_settings",
]

FORMAT = 1
"""The version of the settings; a client that says none means this one."""


class Lenses(enum.Enum):
    """Where lines are written above the code."""

    OFF = "off"
    GRAPH = "graph"
    """On entries, classes, and the ``def`` of a listing."""
    NODES = "nodes"
    """On every node of a listing as well."""


class Programs(enum.Enum):
    """What happens to a file that does the work of a program when it is imported."""

    ASK = "ask"
    """A person is asked once, where the client can ask."""
    RUN = "run"
    LEAVE = "leave"
    """It is run when somebody asks for a trace."""


class FolderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is set for a folder; what is None is as for the others."""

    python: str | None = None
    store: str | None = None


class Remarks(enum.Enum):
    """How what a compiler could not do is shown in a source."""

    OFF = "off"
    HINT = "hint"
    """By a mark under the code, in no list."""
    INFORMATION = "information"
    WARNING = "warning"


class Settings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What a client sets, or the defaults."""

    format: int = FORMAT
    """The version of the settings that the client sends."""
    trusted: bool = False
    """Whether the user's code may be run without being asked for each time."""
    python: str | None = None
    """The interpreter that has the user's packages; None is that of the server."""
    store: str | None = None
    """The folder of the store; None looks for one beside each source."""
    time_limit: float = 60.0
    """Seconds that one entry may take."""
    lenses: Lenses = Lenses.GRAPH
    """Where there are code lenses."""
    remarks: Remarks = Remarks.HINT
    """How severe the problems of torch.compile are."""
    producers: tuple[Producer, ...] = ORDER
    """Who is tried for the graph of an entry, one after the other."""
    programs: Programs = Programs.ASK
    """Whether a file that trains when it is imported is run without being asked for."""
    folders: Mapping[str, FolderSettings] = msgspec.field(
        default_factory=dict[str, FolderSettings]
    )
    """What is set for folders of the workspace, by their URIs; the session has paths."""

    def python_of(self, path: str) -> str | None:
        """The interpreter for a source."""
        return self._around(path).python or self.python

    def store_of(self, path: str) -> str | None:
        """The folder of the store for a source."""
        return self._around(path).store or self.store

    @property
    def stores(self) -> frozenset[str]:
        """The stores that are set."""
        found = (self.store, *(folder.store for folder in self.folders.values()))
        return frozenset(store for store in found if store is not None)

    def _around(self, path: str) -> FolderSettings:
        """What is set for the innermost folder that a source lies in."""
        around = [one for one in self.folders if Path(path).is_relative_to(one)]
        return self.folders[max(around, key=len)] if around else FolderSettings()


class SettingsError(ValueError):
    """What a client sent are no settings; the message says in what way."""


def read_settings(
    options: object, given: Settings, name: str = "initializationOptions"
) -> Settings:
    """What a client sets; what it does not set is as `given`.

    `name` is what the client calls them. Raises `SettingsError`.
    """
    sent: object = {} if options is None else options
    found = (
        cast("dict[str, object]", sent).get("format")
        if isinstance(sent, dict)
        else None
    )
    # First, because settings of another format may have fields that this one lacks.
    if isinstance(found, int) and found != FORMAT:
        raise SettingsError(
            f"{name}: format {found} of the settings is not known; this fxls reads"
            f" format {FORMAT}. Use an extension and an fxls of the same version."
        )
    try:
        settings = msgspec.convert(sent, Settings)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{name}: {error}") from error
    if not 0 < settings.time_limit < float("inf"):
        raise SettingsError(
            f"{name}: timeLimit must be above 0, not {settings.time_limit}"
        )
    if not settings.producers or len({*settings.producers}) < len(settings.producers):
        raise SettingsError(f"{name}: producers must name one or more, each once")
    unset = {
        field.name: getattr(given, field.name)
        for field in msgspec.structs.fields(Settings)
        if field.encode_name not in cast(dict[str, object], sent)
    }
    return msgspec.structs.replace(settings, **unset)
