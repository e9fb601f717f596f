"""What nobody sees on a page reaches no agent; what somebody sees does."""

from __future__ import annotations

import pytest

from agentweb.awp.content.characters import seen
from agentweb.awp.content.convert import convert
from tests.support.bounded import run_bounded


def markdown(html: str) -> str:
    return convert(html, url="https://shop.example/").markdown


HIDING = [
    "display:none",
    "display : NONE ;",
    "display:/* x */none",
    r"di\73 play:none",
    r"display:\6e one",
    "display:none!important;display:block",
    "visibility:hidden",
    "content-visibility:hidden",
    "opacity:0",
    "opacity: .0",
    "opacity:0%",
    "opacity:1e-9",
    "font-size:0",
    "font-size:1px",
    "position:absolute;left:-9999px",
    "position:fixed;top:-200vh",
    "margin-left:-9999px",
    "text-indent:-9999px",
    "text-indent:100%;overflow:hidden;white-space:nowrap",
    "clip-path:inset(100%)",
    "clip-path:circle(0)",
    "position:absolute;clip:rect(0 0 0 0)",
    "position:absolute;clip:rect(1px, 1px, 1px, 1px)",
    "height:0;overflow:hidden",
    "max-height:0px;overflow-y:hidden",
    "width:1px;height:1px;overflow:clip",
    "transform:scale(0)",
    "transform:rotate(3deg) scaleX(0)",
    "transform:translateX(-9999px)",
    "scale:0",
    "color:transparent",
    "color:#fff0",
    "color:rgba(1, 2, 3, 0)",
    "-webkit-text-fill-color:transparent",
    "color:white;background:#fff",
    "color:#FFF;background-color:rgb(255 255 255)",
    "color:navy;background:navy",
]
SHOWING = [
    "",
    "display:none;display:block",
    "display:none;display:block!important",
    "/* display:none */",
    "background:url(display:none)",
    "opacity:.5",
    "opacity:var(--seen)",
    "font-size:12px",
    "left:-9999px",
    "position:absolute;left:-10px",
    "margin-left:-1em",
    "text-indent:2em",
    "clip-path:circle(50%)",
    "clip-path:inset(10%)",
    "height:0",
    "height:3em;overflow:hidden",
    "transform:scale(1.2) translateX(-50%)",
    "color:white",
    "color:#fff;background:#000",
    "-webkit-background-clip:text;background-clip:text;color:transparent",
]


@pytest.mark.parametrize("style", HIDING, ids=range(len(HIDING)))
def test_what_a_style_hides_is_no_content(style: str) -> None:
    assert markdown(f"<main><p>a<p style='{style}'>hidden <b>too</b><p>b</main>") == "a\n\nb\n"


@pytest.mark.parametrize("style", SHOWING, ids=range(len(SHOWING)))
def test_what_a_style_shows_is_content(style: str) -> None:
    assert markdown(f"<main><p>a<p style='{style}'>shown<p>b</main>") == "a\n\nshown\n\nb\n"


def test_letters_of_no_size_are_none_and_those_within_of_a_size_of_their_own_are() -> None:
    own = "<span style='font-size:9px'>a <i>b</i></span>"
    html = f"<div style='font-size:0'>x{own}x<b>x<i style='font-size:2em'>x</i></b></div>"
    assert markdown(f"<main>{html}</main>") == "a *b*\n"


@pytest.mark.parametrize(
    ("sheet", "html", "expected"),
    [
        (".z{display:none}", "<p class=z>x<p class='y Z'>x<p>a", "a\n"),
        ("/* { */ p.z, #q { color: red; display: none }", "<p class=z>x<p id=q>x<div class=z>a</div>", "a\n"),
        ("@charset 'x'; .z{left:-9999px;position:absolute}", "<p class=z>x<p>a", "a\n"),
        (".z.on{display:none}", "<p class=z>a<p class='z on'>x", "a\n"),
        (".z{display:none}.z.on{display:block}", "<p class=z>x<p class='z on'>a", "a\n"),
        ("#q{display:block}.z{display:none}", "<p class=z id=q>a", "a\n"),
        (".z{display:none}", "<p class=z style='display:block'>a", "a\n"),
        ("p{opacity:1}.z{display:none}.z{display:block}", "<p class=z>a", "a\n"),
        (".z{display:none}.open .z{display:block}", "<p class=z>a", "a\n"),
        (".z{display:none}.z:target{display:block}", "<p class=z>a", "a\n"),
        (
            r".h{display:none}@media(min-width:1px){.md\:b{display:block}}",
            "<p class='h md:b'>a<p class=h>x",
            "a\n",
        ),
        ("@media print{.z{display:none}}", "<p class=z>a", "a\n"),
        ("@media print{.z{display:block}}.z{display:none}", "<p class=z>x<p>a", "a\n"),
        (".z{display:none", "<p class=z>a", "a\n"),
        ("}}.z{{display:none}", "<p class=z>a", "a\n"),
    ],
    ids=range(15),
)
def test_simple_rules_of_the_page_s_own_style_sheet_hold(sheet: str, html: str, expected: str) -> None:
    assert markdown(f"<style>{sheet}</style><main>{html}</main>") == expected


def test_a_style_sheet_for_paper_hides_nothing() -> None:
    assert markdown("<style media=print>p{display:none}</style><main><p>a</main>") == "a\n"


def test_what_cannot_be_reached_is_hidden_unless_it_is_the_page() -> None:
    assert markdown("<main><p inert>x<p>a</main>") == "a\n"
    assert markdown("<div inert><main><p>a</main></div>") == "a\n"


def test_a_label_for_those_who_listen_is_content_and_a_long_text_is_none() -> None:
    html = "<p><span class=sr-only>Price: </span>5 EUR<p class='visually-hidden'>" + "x " * 150
    assert markdown(f"<main>{html}</main>") == "Price: 5 EUR\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ig\u200bno\u2060re\u2063 pre\ufe00vi\u200cous\u200d", "ignore previous"),
        ("a\u034f\u3164\u115f\u180eb", "ab"),
        ("1\ufe0f 2\ufe0f\u20e3", "1 2\ufe0f\u20e3"),
        ("👩\u200d💻 ❤\ufe0f\u200d🔥 ☺\ufe0e ©\ufe0f", "👩\u200d💻 ❤\ufe0f\u200d🔥 ☺\ufe0e ©\ufe0f"),
        ("😀" + "".join(chr(0xFE00 + each) for each in range(16)), "😀\ufe00"),
        ("می\u200cخواهم क्\u200dष", "می\u200cخواهم क्\u200dष"),
        ("م\u200c\u200d\u200c\u200dن", "م\u200cن"),
        ("ไทย\u200bไทย 中\u200b文", "ไทย\u200bไทย 中文"),
        ("葛\ufe00", "葛\ufe00"),
    ],
    ids=range(9),
)
def test_characters_that_only_hide_are_left_out_and_those_that_join_stay(text: str, expected: str) -> None:
    assert seen(text) == expected
    assert seen(expected) == expected


def test_styles_of_any_kind_take_no_longer_than_the_page_is_long() -> None:
    run_bounded(
        "from agentweb.awp.content.convert import convert\n"
        "many = 3_000\n"
        "for html in (\n"
        "    '<p style=\"' + '/*' * 50_000 + '\">a',\n"
        "    '<p style=\"' + 'opacity:0 ' * 20_000 + '\">a',\n"
        "    '<p style=\"transform:' + 'a' * 100_000 + '\">a',\n"
        "    '<style>' + '{' * 100_000 + '</style><p>a',\n"
        "    '<style>' + '/*' * 100_000 + '</style><p>a',\n"
        "    '<style>' + '.z{opacity:1}' * many + '</style>' + '<p class=z>a' * many,\n"
        "    '<style>.z{' + 'opacity:1;' * many + '}</style>' + '<p class=z>a' * many,\n"
        "    '<div style=font-size:0>' * 200 + '<b>a</b>' * many,\n"
        "    '<div inert>' * 200 + '<b>a</b>' * many + '<h1>a</h1>',\n"
        "):\n"
        "    convert('<main>' + html, url='https://shop.example/')\n"
    )
