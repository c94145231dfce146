"""What a client sets in `initializationOptions`; `docs/protocol.md` describes it."""

from __future__ import annotations

import msgspec

__all__ = ["Settings", "SettingsError", "read"]


class Settings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What a client sets, or the defaults."""

    trusted: bool = False
    """Whether the user's code may be run without being asked for each time."""
    python: str | None = None
    """The interpreter that has the user's packages; None is that of the server."""
    store: str | None = None
    """The folder of the store; None looks for one beside each source."""
    time_limit: float = 60.0
    """Seconds that one entry may take."""


class SettingsError(ValueError):
    """What a client sent are no settings; the message says in what way."""


def read(options: object) -> Settings:
    """The settings of a client; nothing at all are the defaults.

    Raises `SettingsError`.
    """
    try:
        settings = msgspec.convert({} if options is None else options, Settings)
    except msgspec.ValidationError as error:
        raise SettingsError(f"initializationOptions: {error}") from error
    if not 0 < settings.time_limit < float("inf"):
        raise SettingsError(
            f"initializationOptions: timeLimit must be above 0, not "
            f"{settings.time_limit}"
        )
    return settings
