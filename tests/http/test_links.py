"""Which texts of a document are links that lead back to the site."""

from __future__ import annotations

import json

import pytest

from agentweb.http import links

ORIGIN = "https://shop.example"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{ORIGIN}/a", ["/a"]),
        (f"{ORIGIN}/a?b=1&c=%20d#e", ["/a?b=1&c=%20d"]),
        (f"see {ORIGIN}/a, and ({ORIGIN}/b).", ["/a", "/b"]),
        (f"{ORIGIN}/a {ORIGIN}/a", ["/a"]),
        (f"{ORIGIN}/orders/{{id}}", []),
        (ORIGIN, []),
        (f"{ORIGIN}.evil.example/a", []),
        ("https://other.example/a", []),
        ("/a", []),
    ],
)
def test_a_text_s_links_are_its_addresses_of_this_site(text: str, found: list[str]) -> None:
    assert links.of(text.encode(), "text/plain", ORIGIN) == found
    assert links.of(json.dumps({"a": ["b", text]}).encode(), "application/json", ORIGIN) == found


@pytest.mark.parametrize("name", ["input", "output", "example", "default", "enum", "with"])
def test_what_stands_in_schemas_and_examples_is_no_link(name: str) -> None:
    document = {"actions": [{name: {"url": f"{ORIGIN}/p/1"}, "path": "/a"}], "more": f"{ORIGIN}/b"}
    assert links.of(json.dumps(document).encode(), "application/json", ORIGIN) == ["/b"]


def test_other_media_have_none() -> None:
    assert links.of(f"{ORIGIN}/a".encode(), "image/png", ORIGIN) == []
    assert links.of(b"no json", "application/json", ORIGIN) == []
