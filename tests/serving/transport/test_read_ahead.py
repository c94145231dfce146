"""What was written is read as it was, and what it cancels is known before that."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from fxls.serving.transport.read_ahead import ReadAhead


def message(body: object) -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return b"Content-Length: %d\r\n\r\n" % len(data) + data


def cancel(number: object) -> bytes:
    return message({"method": "$/cancelRequest", "params": {"id": number}})


@contextmanager
def piped() -> Generator[tuple[ReadAhead, int]]:
    reading, writing = os.pipe()
    ahead = ReadAhead(reading)
    yield ahead, writing
    # Its thread is done behind the end: another pipe may have the same number then.
    while ahead.readline():
        pass
    os.close(reading)


def test_what_is_read_is_what_was_written() -> None:
    data = message({"id": 1}) + cancel(1) + b"no message\n" + b"torn"
    with piped() as (ahead, writing):
        os.write(writing, data)
        os.close(writing)
        read = ahead.readline() + ahead.readline() + ahead.read(9)
        while line := ahead.readline():
            read += line

    assert read == data
    assert ahead.read(3) == b""


@pytest.mark.parametrize("number", [7, "seven"])
def test_what_is_cancelled_is_known_when_the_first_byte_is_read(
    number: int | str,
) -> None:
    with piped() as (ahead, writing):
        os.write(writing, message({"id": number}) + cancel(number))
        ahead.readline()
        given_up = {*ahead.given_up}
        os.close(writing)

    assert given_up == {number}


def test_a_message_in_pieces_is_one() -> None:
    data = cancel(7)
    with piped() as (ahead, writing):
        for at in range(len(data)):
            os.write(writing, data[at : at + 1])
        os.close(writing)
        assert ahead.read(len(data)) == data

    assert ahead.given_up == {7}


@pytest.mark.parametrize(
    "body",
    [
        b'"$/cancelRequest"',
        b'{"$/cancelRequest"',
        {"method": "$/cancelRequest"},
        {"method": "$/cancelRequest", "params": {"id": []}},
        {"method": "textDocument/didOpen", "params": {"text": '"$/cancelRequest"'}},
    ],
)
def test_what_cancels_nothing_is_left_to_who_reads_it(body: object) -> None:
    with piped() as (ahead, writing):
        os.write(writing, message(body) + cancel(3))
        os.close(writing)
        while ahead.readline():
            pass

    assert ahead.given_up == {3}
