"""Parts: the whole text, once, and none above its budget."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.awp.budgets import PAGE, at_most
from agentweb.awp.content.blocks import Kind, blocks
from agentweb.awp.content.parts import CLOSING_TOKENS, Part, as_served, split
from agentweb.wire import tokens
from tests.support.examples import examples

URL = "https://shop.example/awp/content/teas/green.md?part=2"
SMALL = 240
PARAGRAPH = "Green tea is not oxidised. It is steamed in Japan, and fired in China.\n\n"


def served(parts: list[Part], url: str = URL) -> list[str]:
    return [
        as_served(
            each.text,
            number=each.number,
            parts=len(parts),
            next_url=url,
            before=each.before,
            after=each.after,
        )
        for each in parts
    ]


def joined(texts: list[str]) -> str:
    """As docs/reference/awp.md says that clients do it."""
    whole = ""
    for at, text in enumerate(texts):
        own = text if at + 1 == len(texts) else text[: text.rindex("\n\n---\n\nPart")]
        opening = re.match(r"Part \d+ of \d+ goes on in (a block of code|a table):\n", text) if at else None
        if opening is not None:
            is_code = opening[1] == "a block of code"
            own = own.split("\n", 3 if is_code else 4)[-1]
            if is_code:
                whole = whole[: whole.rindex("\n")]
        whole += own
    return whole


def assert_whole(markdown: str, budget: int = PAGE.tokens) -> list[Part]:
    without_tokenizer = split(markdown, budget, at_most)
    assert "".join(each.text for each in without_tokenizer) == markdown
    assert all(tokens.count(text) <= budget for text in served(without_tokenizer))
    parts = split(markdown, budget)
    assert "".join(each.text for each in parts) == markdown
    assert [each.number for each in parts] == list(range(1, len(parts) + 1))
    for part, text in zip(parts, served(parts), strict=True):
        assert part.text
        assert part.tokens == tokens.count(part.text)
        assert tokens.count(text) <= budget
    return parts


def test_a_text_within_the_budget_is_one_part_and_says_nothing_of_another() -> None:
    text = PARAGRAPH * 100
    assert tokens.count(text) in range(PAGE.tokens - CLOSING_TOKENS, PAGE.tokens + 1)
    assert split(text) == [Part(1, text, tokens.count(text))]
    assert served(split(text)) == [text]


def test_an_empty_text_has_no_part() -> None:
    assert split("") == []


def test_a_part_says_where_the_next_one_is_and_the_last_one_does_not() -> None:
    first, second = served(assert_whole(PARAGRAPH * 120))
    assert first.endswith(
        "in China.\n\n\n\n---\n\nPart 1 of 2. The text goes on in part 2: "
        "<https://shop.example/awp/content/teas/green.md?part=2>\n"
    )
    assert second.endswith("in China.\n\n")


def test_an_address_that_is_long_is_written_without_its_path() -> None:
    parts = split(PARAGRAPH * 120)
    first = served(parts, "https://shop.example/" + "%E8%8C%B6" * 40 + "?part=2")[0]
    assert first.endswith("part 2: <?part=2>\n")
    assert tokens.count(first) <= PAGE.tokens


def test_without_the_tokenizer_there_are_more_parts_by_the_same_rules() -> None:
    parts = split(PARAGRAPH * 120, measure=at_most)
    assert all(each.text.endswith("in China.\n\n") for each in parts)
    assert all(PAGE.tokens * 0.9 < each.tokens <= PAGE.tokens for each in parts[:-1])


def test_parts_are_cut_between_blocks() -> None:
    parts = assert_whole(PARAGRAPH * 300)
    assert all(each.text.endswith("in China.\n\n") for each in parts)
    assert all(each.tokens > PAGE.tokens * 0.9 for each in parts[:-1])


def test_a_heading_stays_with_what_follows_it() -> None:
    text = "".join(f"## Tea {at}\n\n### How\n\n{PARAGRAPH * (at % 7 + 1)}" for at in range(120))
    for part in assert_whole(text, SMALL):
        assert not part.text.rstrip().splitlines()[-1].startswith("#")


def test_code_is_not_cut_while_it_fits() -> None:
    code = "```python\n" + "".join(f"x{at} = {at}\n\n" for at in range(40)) + "```\n\n"
    for part in assert_whole((PARAGRAPH * 3 + code) * 20):
        assert part.text.count("```") % 2 == 0


def test_longer_code_is_cut_between_its_lines() -> None:
    code = "```\n" + "".join(f"print('line {at}. It is a line.')\n" for at in range(2_000)) + "```\n"
    parts = assert_whole(code)
    assert all(each.text.endswith("')\n") for each in parts[:-1])


def test_a_table_is_cut_between_its_rows_and_its_head_is_not_left_alone() -> None:
    table = "| Tea | Price |\n| --- | --- |\n" + "".join(
        f"| Green. Tea {at} | {at} EUR |\n" for at in range(900)
    )
    parts = assert_whole(PARAGRAPH * 2 + table)
    for part in parts:
        assert all(
            line.startswith("|") and line.endswith("|") for line in part.text.splitlines() if "EUR" in line
        )
        assert not part.text.endswith("| --- | --- |\n")


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    parts = assert_whole("Tea is good. Dr. Tea agrees, for 3.50 EUR a cup. " * 800)
    assert all(each.text.endswith(("good. ", "cup. ")) for each in parts)
    assert all(each.tokens > PAGE.tokens * 0.9 for each in parts[:-1])


def test_a_long_list_is_cut_between_its_items() -> None:
    parts = assert_whole("".join(f"- Item {at} is a tea\n  that grows on hills\n" for at in range(900)))
    assert all(each.text.startswith("- Item") for each in parts)


def test_a_long_sentence_is_cut_between_words() -> None:
    words = "tea " * 10_000
    assert all(set(each.text.split()) == {"tea"} for each in assert_whole(words))


def test_no_character_is_cut() -> None:
    for unit in ("👩🏽‍🚀", "e\u0301\u0323", "한", "\U0001f1e9\U0001f1ea"):
        for part in assert_whole(unit * 4_000, SMALL):
            assert part.text == unit * (len(part.text) // len(unit))


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "ab1 \n" * 50_000,
        "x\n\n" * 50_000,
        " " * 400_000,
        "\n" * 100_000,
        "漢" * 200_000,
        "a" + "\u0301" * 200_000,
        "`" * 500_000,
        "[" * 500_000,
        "." * 200_000,
        "#" * 200_000,
        "# h\n\n" * 50_000,
        "| a | b |\n" * 50_000,
        "```\n" + "x = 1\n" * 20_000,
        "> " * 50_000,
        "- " * 100_000,
        "|-" * 100_000,
        "~~~\n" * 50_000,
        "\ud800" * 50_000,
    ],
    ids=range(19),
)
def test_any_text_is_split_in_time_that_grows_with_its_length_only(text: str) -> None:
    parts = split(text)
    assert "".join(each.text for each in parts) == text
    rng = random.Random(7)
    for part in rng.sample(parts, min(len(parts), 20)):
        closed = (
            served([part])[0]
            if len(parts) == 1
            else as_served(
                part.text,
                number=part.number,
                parts=len(parts),
                next_url=URL,
                before=part.before,
                after=part.after,
            )
        )
        assert tokens.count(closed) <= PAGE.tokens


@pytest.mark.parametrize(
    ("first", "line", "last"),
    [
        ("```py\n", "value = call(number)\n", "```\n"),
        ("~~~~ text\n", "value = call(number)\n", "~~~~\n"),
        ("> ```\n", "> value = call(number)\n", "> ```\n"),
        ("  - ```sh\n", "    value --call number\n", "    ```\n"),
    ],
    ids=range(4),
)
def test_code_that_is_cut_is_closed_and_opened_again(first: str, line: str, last: str) -> None:
    text = f"# Code\n\n{first}{line * 1_500}{last}\nAfter.\n"
    parts = assert_whole(text)
    assert len(parts) > 3
    texts = served(parts)
    assert joined(texts) == text
    for part, shown in zip(parts, texts, strict=True):
        assert [each.kind for each in blocks(shown.partition("\n\n---\n\nPart")[0])].count(Kind.CODE) == 1
        opened = [each for each in blocks(shown) if each.kind is Kind.CODE]
        # It ends where the part does: the line that says where the next one is, is no code.
        assert len(opened) == 1
        assert "The text goes on" not in opened[0].text
        if part.number > 1:
            assert shown.startswith(f"Part {part.number} of {len(parts)} goes on in a block of code:\n\n")
    assert "After." in texts[-1]


def test_a_table_that_is_cut_has_its_head_in_each_part() -> None:
    head = "| Tea | Price |\n|---|---:|\n"
    row = "| Green tea | 4.20 |\n"
    text = f"# Prices\n\n{head}{row * 1_500}\nAfter.\n"
    parts = assert_whole(text)
    assert len(parts) > 3
    texts = served(parts)
    assert joined(texts) == text
    for part, shown in zip(parts[1:], texts[1:], strict=True):
        assert shown.startswith(
            f"Part {part.number} of {len(parts)} goes on in a table:\n\n{head}| Green tea |"
        )
        assert shown.count(head) == 1
    assert texts[0].count(head) == 1


def test_a_head_that_would_fill_the_part_is_not_repeated() -> None:
    head = f"| {'wide ' * 600}| b |\n|---|---|\n"
    parts = assert_whole(head + "| a | b |\n" * 2_000)
    assert not any(each.before for each in parts)


def test_the_line_that_opens_code_is_not_left_alone_at_the_end_of_a_part() -> None:
    text = PARAGRAPH * 100 + "```py\n" + "value = call(number)\n" * 900 + "```\n"
    parts = assert_whole(text)
    assert not any(each.text.endswith("```py\n") for each in parts)


def test_parts_that_are_cut_elsewhere_have_nothing_before_them() -> None:
    assert not any(each.before or each.after for each in split(PARAGRAPH * 300))


def test_a_budget_without_room_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least"):
        split("x", 2 * CLOSING_TOKENS - 1)


PIECES = st.one_of(
    st.text(max_size=30),
    st.text(alphabet=st.sampled_from("ab.\n #|`~>-*[]()1 \t\u0301\u200d👩🏽"), max_size=60),
    st.sampled_from(
        [
            PARAGRAPH,
            "# Heading\n\n",
            "```\ncode\n\ncode\n```\n",
            "```\nnot closed\n",
            "| a | b |\n|---|---|\n| c | d |\n",
            "שלום עולם. מה שלומך? \u200f",
            "السلام عليكم. كيف حالك؟\n\n",
            "お茶を飲みます。美味しいです。\n",
            "👨‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿",
            "word " * 300,
            "w" * 2_000,
            "\n" * 50,
            " " * 500,
        ]
    ),
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join), st.sampled_from([SMALL, 500, PAGE.tokens]))
@pytest.mark.requirement("AWP-4.7")
def test_any_text_is_whole_in_parts_within_the_budget(markdown: str, budget: int) -> None:
    assert_whole(markdown, budget)
