"""Cursors: opaque, of one kind, never taken for something else (AIM.md 6.2)."""

from __future__ import annotations

from typing import Any

import pytest

from agentweb.aim import cursors
from agentweb.aim.cursors import Kind
from agentweb.wire.encoding import b64url
from agentweb.wire.errors import AgentError

EPOCH = "0123456789abcdef"


@pytest.mark.parametrize("position", [0, 1, 255, 2**32, 2**63 - 1])
def test_a_position_comes_back_from_its_cursor(position: int) -> None:
    assert cursors.parse_event_cursor(cursors.event_cursor(EPOCH, position)) == (EPOCH, position)
    assert cursors.parse_position(Kind.THREAD, cursors.page_cursor(Kind.THREAD, position)) == position


def test_a_name_comes_back_from_its_cursor() -> None:
    assert cursors.parse_name(Kind.CONTACTS, cursors.page_cursor(Kind.CONTACTS, "bob")) == "bob"


def test_a_cursor_fits_into_a_url_as_it_is() -> None:
    assert cursors.event_cursor(EPOCH, 2**63 - 1).replace("-", "").replace("_", "").isalnum()


@pytest.mark.parametrize("given", list(Kind), ids=lambda kind: kind.name)
@pytest.mark.parametrize("asked", list(Kind), ids=lambda kind: kind.name)
def test_a_cursor_is_good_for_its_own_kind_of_list_only(given: Kind, asked: Kind) -> None:
    cursor = _cursor(given)
    if given == asked:
        _parse(asked, cursor)
        return
    with pytest.raises(AgentError) as refused:
        _parse(asked, cursor)
    assert (refused.value.code, refused.value.status) == ("invalid_cursor", 400)


@pytest.mark.parametrize(
    "text",
    [
        *("", "0", "now", "null", "12345", "-1", "../../etc/passwd", "A" * 200, "é", "\0", "\ud800", "=="),
        cursors.event_cursor(EPOCH, 1) + "A",
        cursors.event_cursor(EPOCH, 1)[:-1],
        cursors.event_cursor(EPOCH, 1) + "==",
        b64url(bytes([0x20]) + bytes(16)),
        b64url(bytes([0x10]) + bytes(8) + b"\xff" * 8),
        b64url(bytes([0x10]) + bytes(17)),
    ],
    ids=ascii,
)
@pytest.mark.parametrize("kind", [Kind.EVENTS, Kind.PRIMARY, Kind.CONTACTS], ids=lambda kind: kind.name)
def test_garbage_is_an_error_and_not_the_beginning(kind: Kind, text: str) -> None:
    with pytest.raises(AgentError) as refused:
        _parse(kind, text)
    assert refused.value.code == "invalid_cursor"


def test_a_name_with_other_characters_is_no_cursor() -> None:
    for name in ("b\0b", "bób"):
        with pytest.raises(AgentError):
            cursors.parse_name(Kind.CONTACTS, cursors.page_cursor(Kind.CONTACTS, name))


def _cursor(kind: Kind) -> str:
    if kind == Kind.EVENTS:
        return cursors.event_cursor(EPOCH, 7)
    return cursors.page_cursor(kind, "bob" if kind == Kind.CONTACTS else 7)


def _parse(kind: Kind, text: str) -> Any:
    if kind == Kind.EVENTS:
        return cursors.parse_event_cursor(text)
    return cursors.parse_name(kind, text) if kind == Kind.CONTACTS else cursors.parse_position(kind, text)
