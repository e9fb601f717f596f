"""Cursors say what they are, and are refused where they are not that."""

from __future__ import annotations

import pytest

from agentweb.aim.cursors import Kind, page_cursor
from agentweb.awp.search.cursors import LENGTH, Place, read, write
from agentweb.wire.encoding import b64url
from agentweb.wire.errors import RequestError


def test_a_cursor_is_read_as_it_was_written() -> None:
    for place in (Place.after(1, "page:a"), Place.after(65_535, "action:b"), Place.after(0, "")):
        cursor = write("green tea", place)
        assert len(cursor) == LENGTH
        assert read("green tea", cursor) == place


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "10",
        "?" * LENGTH,
        "A" * LENGTH,
        "é" * LENGTH,
        write("tea", Place.after(1, "page:a"))[:-1],
        write("tea", Place.after(1, "page:a")) + "A",
        write("tea", Place.after(1, "page:a")) * 10_000,
        write("cups", Place.after(1, "page:a")),
        b64url(b"\x20" + bytes(18)),
        page_cursor(Kind.PRIMARY, 5),
    ],
    ids=[
        *(
            "empty",
            "letter",
            "number",
            "signs",
            "zeros",
            "accents",
            "shorter",
            "longer",
            "huge",
            "other-query",
        ),
        *("no-digest", "messenger"),
    ],
)
def test_what_is_no_cursor_of_the_query_is_refused(cursor: str) -> None:
    with pytest.raises(RequestError) as caught:
        read("tea", cursor)
    assert (caught.value.code, caught.value.field) == ("invalid_cursor", "cursor")
