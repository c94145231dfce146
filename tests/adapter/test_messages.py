"""A message is passed on as it came, and what is none is said."""

from __future__ import annotations

from io import BytesIO

import pytest

from fxls.adapter.messages import (
    Head,
    Malformed,
    Message,
    event,
    read,
    request,
    response,
)

ODD = b'{ "type":"request" ,"command" : "threads","seq":7, "mine": [1e2,"\\u00e9"]}'
NONE = ", which begins no message of the protocol: "
TOO_LONG = ", which is no number up to 268,435,456"


def framed(data: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(data), data)


def test_what_is_written_is_byte_for_byte_what_was_read() -> None:
    stream, written = BytesIO(framed(ODD) * 2), BytesIO()
    while message := read(stream):
        assert message.head == Head("request", 7, "threads")
        message.write(written)
    assert written.getvalue() == framed(ODD) * 2


def test_other_headers_and_the_case_of_letters_do_not_matter() -> None:
    head = b"Content-Type: x\r\ncontent-length:%d\n\n" % len(ODD)
    assert read(BytesIO(head + ODD)) == Message.of(ODD)


@pytest.mark.parametrize("end", range(0, len(framed(ODD)), 9))
def test_a_stream_that_ends_in_a_message_has_ended(end: int) -> None:
    assert read(BytesIO(framed(ODD)[:end])) is None


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (
            framed(b"hello"),
            f"sent 'hello'{NONE}JSON is malformed: invalid character (byte 0)",
        ),
        (
            framed(b"[]"),
            f"sent '[]'{NONE}Expected `object`, got `array`",
        ),
        (b"Content-Type: x\r\n\r\n{}", "sent a header without Content-Length"),
        (
            b"Content-Length: 99999999999999\r\n\r\n",
            f"sent the Content-Length '99999999999999'{TOO_LONG}",
        ),
        (
            b"Content-Length: -1\r\n\r\n",
            f"sent the Content-Length '-1'{TOO_LONG}",
        ),
        (b"x" * 10_000, "sent a header of more than 4,096 bytes"),
        (b"x: 1\r\n" * 100, "sent a header without Content-Length"),
    ],
)
def test_what_is_no_message_is_said(sent: bytes, said: str) -> None:
    with pytest.raises(Malformed) as raised:
        read(BytesIO(sent))
    assert str(raised.value) == said


def test_arguments_that_are_no_object_are_said() -> None:
    message = Message.of(b'{"type":"request","command":"launch","arguments":5}')
    with pytest.raises(Malformed) as raised:
        message.part("arguments")
    assert str(raised.value) == "sent launch with arguments that are no object"


def test_messages_of_ours_say_what_the_protocol_asks_for() -> None:
    asked = request(9, "evaluate", {"expression": "1"})
    assert asked.data == (
        b'{"seq":9,"type":"request","command":"evaluate","arguments":{"expression":"1"}}'
    )
    assert response(asked, "no").data == (
        b'{"seq":0,"type":"response","request_seq":9,"command":"evaluate",'
        b'"success":false,"message":"no"}'
    )
    assert event("output", {"output": "x"}).data == (
        b'{"seq":0,"type":"event","event":"output","body":{"output":"x"}}'
    )
