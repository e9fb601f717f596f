"""What is taken of a page, and what is refused."""

from __future__ import annotations

import re

import pytest

from agentweb.awp.content.convert import MAX_CHARACTERS, convert
from agentweb.awp.content.decoding import decoded
from agentweb.awp.content.links import absolute
from tests.support.bounded import run_bounded

URL = "https://shop.example/d/p?z=1"


def markdown(html: str, selector: str | None = None) -> str:
    return convert(html, url=URL, selector=selector).markdown


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("/a b", "https://shop.example/a%20b"),
        ("#part", "https://shop.example/d/p?z=1#part"),
        ("//user:secret@other.example/x", "https://other.example/x"),
        ("https://a@b@c.example/", "https://c.example/"),
        ("/tea_(drink)", "https://shop.example/tea_(drink)"),
        ("/x)", "https://shop.example/x%29"),
        ("mailto:a@b.example", "mailto:a@b.example"),
        ("javascript:alert(1)", None),
        (" java\nscript:alert(1)", None),
        ("data:text/html,x", None),
        ("http://[::1", None),
        ("http:///x", None),
        ("/" + "x" * 3_000, None),
    ],
    ids=range(13),
)
def test_an_address_is_whole_and_safe_or_none(href: str, expected: str | None) -> None:
    assert absolute(href, URL) == expected


@pytest.mark.parametrize(
    ("body", "charset", "expected"),
    [
        ("é".encode(), "", "é"),
        (b"\xef\xbb\xbf\xc3\xa9", "latin-1", "é"),
        ("é".encode("utf-16"), "", "é"),
        (b"\xe9", "iso-8859-1", "é"),
        (b"\x80", "iso-8859-1", "€"),
        (b"<meta charset=windows-1251>\xd7", "", "<meta charset=windows-1251>Ч"),
        (b"<meta charset=utf-16>\xc3\xa9", "", "<meta charset=utf-16>é"),
        (b"caf\xe9", "", "café"),
        ("ééééééééééééé".encode() + b"\xff", "", "ééééééééééééé\ufffd"),
        ("é".encode(), "no-such", "é"),
        (b"+ADw-", "utf-7", "+ADw-"),
        (b"6162", "hex", "6162"),
    ],
    ids=range(12),
)
def test_bytes_are_read_as_browsers_read_them(body: bytes, charset: str, expected: str) -> None:
    assert decoded(body, charset) == expected


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ('<meta name="robots" content="noindex, follow">', True),
        ('<META NAME="GoogleBot" CONTENT="NONE">', True),
        ('<meta name="robots" content="nofollow">', False),
        ('<meta name="description" content="noindex">', False),
        ('<meta name="agentweb" content="noindex">', True),
        ('<meta name="robots" content="NoIndex;NoFollow">', True),
        ('<meta name="robots" content="nofollow noindex">', True),
        ('<meta http-equiv="X-Robots-Tag" content="noindex">', True),
        ('<meta name="robots" content="index, max-image-preview:none">', False),
        ('<meta name="robots" content="unavailable_after: 25 Jun 2010 15:00:00 PST">', True),
        ('<meta name="robots" content="unavailable_after: 25 Jun 2931 15:00:00 PST">', False),
        ('<meta name="otherbot" content="noindex">', False),
    ],
    ids=range(12),
)
def test_a_page_may_say_that_it_is_not_for_robots(meta: str, expected: bool) -> None:
    assert convert(f"<head>{meta}</head><p>x", url=URL).is_noindex is expected


def test_a_selector_says_what_the_content_is() -> None:
    html = (
        '<main><p>main</p></main><div class="a">one<div class="a">two</div></div><div class="a">three</div>'
    )
    assert markdown(html, ".a") == "one\n\ntwo\n\nthree\n"
    assert markdown(html, ".nothing") == "main\n"
    with pytest.raises(ValueError, match="no CSS selector"):
        markdown(html, "..a")


def test_a_page_without_a_heading_begins_with_its_title() -> None:
    assert markdown("<title>A *title*</title><main><p>x</main>") == "# A \\*title\\*\n\nx\n"
    assert markdown("<body><section><h1>Own</h1></section><main><p>x</main>") == "# Own\n\nx\n"


def test_names_of_attributes_that_are_none_are_no_obstacle() -> None:
    assert markdown("<main><p>x <a {=} href=/y {>y</a> <ol {x start=3><li {>a</ol>") == (
        "x [y](https://shop.example/y)\n\n3. a\n"
    )


def test_what_is_empty_is_empty() -> None:
    for html in ("", " ", "<!-- x -->", "<main></main>", "<body hidden=''><p hidden>x"):
        assert markdown(html) == ""


def test_a_page_nested_without_end_is_refused_and_a_deep_one_keeps_its_text() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        markdown("<div>" * 1_000_000)
    assert markdown("<div>" * 900 + "deep" + "</div>" * 900) == "deep\n"


def test_a_page_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than"):
        markdown(" " * (MAX_CHARACTERS + 1))


def test_one_long_row_does_not_make_all_others_as_long() -> None:
    html = "<table><tr>" + "<td>x" * 500 + "</tr>" + "<tr><td>x</tr>" * 2_000 + "</table>"
    assert len(markdown(html)) < 20_000


def test_a_long_cell_over_many_rows_and_a_note_with_many_links_take_no_longer_than_the_page_is_long() -> None:
    run_bounded(
        "from agentweb.awp.content.convert import convert\n"
        "refs, links = 3_000, 3_000\n"
        "for html in (\n"
        "    '<table><tr><td rowspan=0>' + 'long ' * 200_000 + '<td>x' + '<tr><td>x' * 3_000 + '</table>',\n"
        "    '<table><tr><td rowspan=0>' + '<b>x</b>' * 20_000 + '<td>x' + '<tr><td>x' * 3_000 + '</table>',\n"
        "    '<table><thead><tr><th colspan=900 rowspan=2>' + 'long ' * 50_000 + '<tr></thead><tr><td>x</table>',\n"
        "    '<p>' + '<sup><a href=#n>1</a></sup>' * refs\n"
        "    + '<ol><li id=n>' + '<a href=/x>long text</a>' * links + '</ol>',\n"
        "    '<p>' + ''.join(f'<a role=doc-noteref href=#n{at}>?</a>' for at in range(2 * refs))\n"
        "    + ''.join(f'<p id=n{at}>x' for at in range(2 * refs)),\n"
        "):\n"
        "    found = convert('<main>' + html, url='https://shop.example/').markdown\n"
        "    assert len(found) < 5 * len(html)\n",
        seconds=30,
    )


def test_notes_without_a_name_get_one_that_is_nobody_else_s() -> None:
    refs = "".join(
        f"<sup><a class=footnote href=#{at}>{name}</a></sup>"
        for at, name in enumerate(["n2", "*", "n4", "*"])
    )
    notes = "".join(f"<p id={at}>Note {at}" for at in range(4))
    names = re.findall(r"\[\^(\w+)\]: Note", markdown(f"<main><p>x{refs}{notes}</main>"))
    assert len(set(names)) == 4
