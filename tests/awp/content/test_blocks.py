"""The blocks of a Markdown text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.awp.content.blocks import Kind, blocks
from tests.support.bounded import run_bounded
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("One\ntwo\n\nThree", [(Kind.TEXT, "One\ntwo\n\n"), (Kind.TEXT, "Three")]),
        ("# One\nText\n", [(Kind.HEADING, "# One\n"), (Kind.TEXT, "Text\n")]),
        ("```\na\n\n# b\n```\nText", [(Kind.CODE, "```\na\n\n# b\n```\n"), (Kind.TEXT, "Text")]),
        ("````\n```\n````\n", [(Kind.CODE, "````\n```\n````\n")]),
        ("~~~ x\n```\n~~~\nA", [(Kind.CODE, "~~~ x\n```\n~~~\n"), (Kind.TEXT, "A")]),
        (
            "- a\n\n  ```\n  b\n\n  c\n  ```\n- d",
            [(Kind.TEXT, "- a\n\n"), (Kind.CODE, "  ```\n  b\n\n  c\n  ```\n"), (Kind.TEXT, "- d")],
        ),
        ("> ```\n> a\n>\n> ```\nb", [(Kind.CODE, "> ```\n> a\n>\n> ```\n"), (Kind.TEXT, "b")]),
        (
            "A\n| a | b |\n| - | - |\n| c | d |\n\nB",
            [(Kind.TEXT, "A\n"), (Kind.TABLE, "| a | b |\n| - | - |\n| c | d |\n\n"), (Kind.TEXT, "B")],
        ),
        ("a | b\n--|--\nc. d | e\n", [(Kind.TABLE, "a | b\n--|--\nc. d | e\n")]),
        ("    a\n\n    b\n\nC", [(Kind.CODE, "    a\n\n    b\n\n"), (Kind.TEXT, "C")]),
        (
            "- a\n\n    b\n\n    c\n",
            [(Kind.TEXT, "- a\n\n"), (Kind.TEXT, "    b\n\n"), (Kind.TEXT, "    c\n")],
        ),
        ("```\nnever closed\n\n# x", [(Kind.CODE, "```\nnever closed\n\n# x")]),
        ("\n\nA", [(Kind.TEXT, "\n\n"), (Kind.TEXT, "A")]),
        ("``` a`b\nc", [(Kind.TEXT, "``` a`b\nc")]),
    ],
    ids=range(14),
)
def test_blocks_are_told_apart(markdown: str, expected: list[tuple[Kind, str]]) -> None:
    assert [(each.kind, each.text) for each in blocks(markdown)] == expected


@settings(max_examples=examples(200), deadline=None)
@given(st.text(alphabet=st.sampled_from("a |-`~#>\n\t\r\x0b\u2028*1."), max_size=80))
def test_joined_they_are_the_text(markdown: str) -> None:
    assert "".join(each.text for each in blocks(markdown)) == markdown


def test_no_line_takes_longer_than_it_is_long() -> None:
    run_bounded(
        "from agentweb.awp.content.blocks import blocks\n"
        "for line in (' ' * 200_000, '>' * 200_000, '|' * 200_000, '-' * 200_000, '- |' * 70_000, '`' * 200_000):\n"
        "    text = 'a|b\\n' + line + 'x\\n' + line + '\\n'\n"
        "    assert ''.join(block.text for block in blocks(text)) == text\n"
    )
