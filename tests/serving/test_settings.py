"""What a client sets."""

from __future__ import annotations

import pytest

from fxls.entry import Producer
from fxls.serving.settings import Programs, Settings, SettingsError, read_settings


@pytest.mark.parametrize("options", [None, {}])
def test_a_client_need_not_set_anything(options: object) -> None:
    assert read_settings(options, Settings()) == Settings(
        trusted=False, python=None, store=None, time_limit=60.0
    )


def test_every_setting_is_read() -> None:
    options = {
        "trusted": True,
        "python": "/usr/bin/python3",
        "store": "/tmp/store",
        "timeLimit": 5,
        "producers": ["export", "engine"],
        "programs": "leave",
    }

    assert read_settings(options, Settings()) == Settings(
        trusted=True,
        python="/usr/bin/python3",
        store="/tmp/store",
        time_limit=5.0,
        producers=(Producer.EXPORT, Producer.ENGINE),
        programs=Programs.LEAVE,
    )


def test_what_a_client_does_not_set_is_as_the_server_was_started() -> None:
    given = Settings(store="/tmp/store", python="/usr/bin/python3")

    assert read_settings({"store": "/work/.fxls", "trusted": True}, given) == Settings(
        trusted=True, store="/work/.fxls", python="/usr/bin/python3"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trusted": "yes"}, "Expected `bool`, got `str` - at `$.trusted`"),
        ({"timeout": 5}, "Object contains unknown field `timeout`"),
        ({"timeLimit": 0}, "timeLimit must be above 0, not 0.0"),
        ({"producers": []}, "producers must name one or more, each once"),
        (
            {"producers": ["export", "export"]},
            "producers must name one or more, each once",
        ),
        ([], "Expected `object`, got `array`"),
        (
            {"format": 2, "colours": []},
            (
                "format 2 of the settings is not known; this fxls reads format 1. "
                "Use an extension and an fxls of the same version."
            ),
        ),
    ],
)
def test_what_is_no_setting_is_said(options: object, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings(options, Settings())

    assert str(caught.value) == f"initializationOptions: {message}"
