"""Whatever a page is written in, it becomes Markdown that says what the page said, and nothing is raised."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from agentweb.awp.content.characters import seen
from agentweb.awp.content.convert import Converted, convert
from tests.support.examples import examples

TAGS = re.findall(
    r"\S+",
    "a abbr article aside b blockquote body br caption code dd details div dl dt em fieldset figcaption figure footer "
    "form h1 h2 h3 h6 head header hr html i iframe img input kbd li main math nav ol option p pre script section "
    "select small span style sub summary sup svg table tbody td template textarea tfoot th thead title tr ul var x-y",
)
ATTRIBUTES = [
    'href="/teas?a=1&b=2"', 'href="#x"', "href=//other.example/x)", 'href="javascript:alert(1)"', 'href="http://[::1"',
    'href=""', "src=/tea.png", 'src="data:image/png;base64,AA=="', 'alt="a *tea* ](/x)"', "id=x", "id='y'",
    "class='footnote-ref'", "class='linenos'", "class='language-c++'", "class='cookie-banner'", "rowspan=3",
    "rowspan=0", "colspan=2", "colspan=9999999999", "role=heading", "role=presentation", "role=main",
    "role=doc-noteref", "hidden", "aria-hidden=true", 'style="display:none"', "type=checkbox", "checked", "start=-7",
    "title='<b>&quot;'", "=", "a='",
]  # fmt: skip
TEXTS = [
    " ", "\n", "\t\n", "tea", "*tea*", "**", "_a_b_", "`", "```", "~~~", "[x](/y)", "![", "!", "](", "]:", "[^1]", "<",
    "<!--", "-->", "<![CDATA[", "&amp;lt;script&gt;", "&lt;b&gt;", "&#0;", "&#xf8fb;x&#xf8fc;(/y)", "&nbsp;", "\\",
    "\\*", "1. ", "- ", "+", "# ", "> ", "| a |", "---", "===", "~~", "$x$", "\x00",
    "\x08", "&#8;", "\x0c", "\uffff", "\ufeff", "\u00ad", "\u202e", "\u200d",
    "\U000e0041", "\uf8fa", "\uf8fd*", "é中文\n茶", "שלום", "\ud800",
]  # fmt: skip
OURS = re.compile("[\uf8fa-\uf8fd]")
COMMONMARK = MarkdownIt("commonmark").enable(["table", "strikethrough"])
BREAK = "<br>"
ORIGINS = ("https://shop.example/", "https://other.example/")


def _tag(name: str, attributes: list[str], end: str) -> str:
    return f"<{' '.join([name, *attributes])}{end}"


opened = st.builds(
    _tag,
    st.sampled_from(TAGS),
    st.lists(st.sampled_from(ATTRIBUTES), max_size=3),
    st.sampled_from([">", ">", "/>", ""]),
)
closed = st.sampled_from(TAGS).map("</{}>".format)
pieces = st.one_of(opened, closed, st.sampled_from(TEXTS), st.text(max_size=8))
pages = st.lists(pieces, max_size=60).map("".join)
many = settings(max_examples=examples(150), deadline=None)


def converted(html: bytes | str) -> Converted:
    return convert(html, url="https://shop.example/d/p?z=1")


def tokens(markdown: str) -> Iterator[Token]:
    """Of a parser of CommonMark, those within others too."""
    for token in COMMONMARK.parse(markdown):
        yield token
        yield from token.children or ()


@many
@given(pages)
@example("<p>\uf8fbx\uf8fc(/y)")
@example("<p>&#xF8FB;x&#63740;(/y)")
@example("<title>\uf8fd*</title><p>x")
@example("<div>" * 200 + "<b>\x08x" + "&#xffff;y")
@example("<b \x1f<a>x<c\x08c>")
@example("<table>\x08x<tr><td>&#12;y</table>")
def test_any_page_becomes_a_bounded_text_of_characters_that_are_seen(html: str) -> None:
    found = converted(html)
    assert found.markdown == "" or found.markdown[-1:] == "\n" != found.markdown[-2:-1]
    assert len(found.markdown) <= 40 * len(html) + 1_000
    for text in (found.title, found.description, found.markdown):
        assert seen(text) == text
        assert not OURS.search(text)
    assert converted(html) == found


@many
@given(pages)
@example("<abbr title='<b>'>x</abbr>")
def test_no_page_becomes_html_or_leads_where_none_of_its_links_does(html: str) -> None:
    for token in tokens(converted(html).markdown):
        if token.type in {"html_inline", "html_block"}:
            assert token.content.strip() == BREAK
        elif token.type in {"link_open", "image"}:
            assert str(token.attrs.get("href", token.attrs.get("src"))).startswith(ORIGINS)


@many
@given(st.binary(max_size=200), pages, st.sampled_from(["", "utf-8", "latin-1", "utf-16", "no-such"]))
def test_any_bytes_in_any_encoding_are_a_page(noise: bytes, html: str, charset: str) -> None:
    body = noise + html.encode("utf-8", "surrogatepass") + noise
    found = convert(body, url="https://shop.example/", charset=charset)
    assert seen(found.markdown) == found.markdown


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<i><h2>T</h2>a</i>", "## T\n\na\n"),
        ("<b><ul><li>a<li>b</ul></b>", "- a\n- b\n"),
        ("<em><pre>a\nb</pre></em>", "```\na\nb\n```\n"),
        ("<strong><div>x</div></strong> y", "**x** y\n"),
        ("<p>x<a href=/y>\u00ad</a>", "x\n"),
        ("<p>x<b>\u200d</b>", "x\n"),
    ],
    ids=range(6),
)
def test_what_is_around_a_block_leaves_it_one(html: str, expected: str) -> None:
    assert converted(html).markdown == expected
