"""Slugs: readable where they can be, and never the same for two pages."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from django.urls import Resolver404, resolve
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.awp.content.models import SLUG_LENGTH
from agentweb.awp.content.slugs import PATTERN, section_id, slug_of
from agentweb.awp.protocol import RESERVED_SLUGS
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("/", "index"),
        ("/about", "about"),
        ("/about/", "about"),
        ("/products/red-shoe/", "products/red-shoe"),
        ("/guide.html", "guide.html"),
        ("/a_b/c-1/", "a_b/c-1"),
        ("/%61bout", "about"),
    ],
)
def test_a_plain_path_is_its_own_slug(path: str, slug: str) -> None:
    assert slug_of(path) == slug


@pytest.mark.parametrize(
    ("path", "readable"),
    [
        ("/summary", "summary"),
        ("/index/", "index"),
        ("/About", "about"),
        ("/products/?sort=price", "products"),
        ("/caf%C3%A9/men%C3%BC", "cafe/menu"),
        ("/%E9%9E%8B", "page"),
        ("/a//b", "a/b"),
        ("/a%20b", "a-b"),
        ("/?p=2", "page"),
        ("/end./", "end"),
        ("/.hidden", "hidden"),
        ("/a~b", "ab"),
        ("/" + "x" * 300, "x" * 103),
    ],
)
def test_every_other_path_is_written_as_far_as_it_can_be_read_and_ends_in_a_digest(
    path: str, readable: str
) -> None:
    assert re.fullmatch(re.escape(readable) + "~[0-9a-f]{16}", slug_of(path))
    assert slug_of(path) == slug_of(path)


def test_paths_that_look_alike_have_slugs_of_their_own() -> None:
    paths = [
        "/a/b",
        "/a-b",
        "/a//b",
        "/A/b",
        "/a/b?",
        "/a/b?c",
        "/a/b?c=",
        "/a%20b",
        "/a+b",
        "/caf%C3%A9",
        "/cafe",
    ]
    paths += [f"/{name}" for name in RESERVED_SLUGS]
    slugs = {slug_of(path) for path in paths}
    # A bare question mark says nothing.
    assert len(slugs) == len(paths) - 1
    assert not slugs & RESERVED_SLUGS


def test_a_slug_with_a_digest_is_no_pages_own_path() -> None:
    taken = slug_of("/About")
    assert slug_of(f"/{taken}") != taken


_PATHS = st.lists(st.text(max_size=12), max_size=4).map(lambda parts: "/" + "/".join(parts).replace("#", ""))


@given(one=_PATHS, other=_PATHS)
@settings(max_examples=examples(200), deadline=None)
def test_slugs_are_the_same_for_one_page_only_and_fit_their_address(one: str, other: str) -> None:
    first, second = slug_of(one), slug_of(other)
    assert re.fullmatch(PATTERN, first)
    assert len(first) <= SLUG_LENGTH
    if first == second:
        assert _meant(one) == _meant(other)


def _meant(path: str) -> tuple[str, str]:
    before, _, query = path.partition("?")
    return unquote(before, errors="surrogateescape").rstrip("/") or "/", unquote(
        query, errors="surrogateescape"
    )


def test_every_slug_has_its_address() -> None:
    for path in ("/", "/products/red-shoe/", "/About", "/summary", "/%E9%9E%8B?a=1"):
        try:
            match = resolve(f"/awp/content/{slug_of(path)}.md")
        except Resolver404:
            pytest.fail(path)
        assert match.kwargs.get("slug") == slug_of(path)


def test_sections_have_ids_for_urls() -> None:
    assert [section_id(name) for name in ("blog", "Blog posts", "Bücher")] == ["blog", "blog-posts", "bucher"]
    assert re.fullmatch(r"section-[0-9a-f]{8}", section_id("鞋"))
    assert section_id("鞋") != section_id("袋")
