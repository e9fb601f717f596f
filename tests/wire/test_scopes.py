from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentweb.wire.scopes import (
    MAX_LENGTH,
    check_pattern,
    check_scope,
    covers,
    pattern_covers_pattern,
    specificity,
)

GOOD_SCOPES = [
    "checkout",
    "cart:write",
    "a:b:c:d:e",
    "0",
    "a_b.c-d",
    "a" * MAX_LENGTH,
    "cart:item.add",
]
BAD_SCOPES = [
    "",
    ":",
    "cart:",
    ":cart",
    "cart::write",
    "a:b:c:d:e:f",
    "a" * (MAX_LENGTH + 1),
    "Cart",
    "cart write",
    "cart\n",
    "_cart",
    "-cart",
    ".cart",
    "cart:_write",
    "çart",
    "cart/write",
    "١",  # a digit elsewhere than in ASCII
    None,
    1,
    ["cart"],
]
STARS = ["*", "cart:*", "a:b:c:d:*"]
BAD_STARS = [
    "**",
    "car*",
    "*:read",
    "*:*",
    ":*",
    "cart:*:add",
    "cart:**",
    "cart:*\n",
    "*\n",
    "cart*",
    "a:b:c:d:e:*",
    "a" * (MAX_LENGTH - 1) + ":*",
]


@pytest.mark.parametrize("text", GOOD_SCOPES)
def test_scope_of_the_grammar_is_a_scope_and_a_pattern(text: str) -> None:
    assert check_scope(text) == text
    assert check_pattern(text) == text


@pytest.mark.parametrize("text", [*BAD_SCOPES, *STARS, *BAD_STARS])
def test_text_outside_the_grammar_is_no_scope(text: object) -> None:
    with pytest.raises(ValueError, match="A scope is"):
        check_scope(text)


@pytest.mark.parametrize("text", STARS)
def test_star_alone_or_last_is_a_pattern(text: str) -> None:
    assert check_pattern(text) == text


@pytest.mark.parametrize("text", [*BAD_SCOPES, *BAD_STARS])
def test_text_outside_the_grammar_is_no_pattern(text: object) -> None:
    with pytest.raises(ValueError, match="A scope pattern is"):
        check_pattern(text)


@pytest.mark.parametrize(
    ("pattern", "scope", "expected"),
    [
        ("cart:*", "cart:write", True),
        ("cart:*", "cart:item:add", True),
        ("cart:*", "cart", False),
        ("cart:*", "cartel:write", False),
        ("cart:*", "*", False),
        ("cart:*", "cart:*", False),
        ("*", "cart", True),
        ("*", "a:b:c:d:e", True),
        ("*", "*", False),
        ("cart", "cart", True),
        ("cart", "cart:write", False),
        ("cart:write", "cart:writer", False),
        ("cart:item:*", "cart:item:add", True),
        ("cart:item:*", "cart:items:add", False),
        ("car*", "cart", False),
        ("**", "cart", False),
        ("cart:*", "Cart:write", False),
        ("cart:*", "cart:write\n", False),
        ("cart:*", "cart:", False),
        ("app:*", "application:read", False),
    ],
)
def test_pattern_covers_whole_segments_only(pattern: str, scope: str, expected: bool) -> None:
    assert covers(pattern, scope) is expected


@pytest.mark.parametrize(
    ("parent", "child", "expected"),
    [
        ("*", "*", True),
        ("*", "cart:*", True),
        ("cart:*", "*", False),
        ("cart:*", "cart:*", True),
        ("cart:*", "cart:item:*", True),
        ("cart:item:*", "cart:*", False),
        ("cart:*", "cart", False),
        ("cart", "cart:*", False),
        ("cart:*", "cartel:*", False),
        ("cart:write", "cart:write", True),
        ("**", "**", False),
        ("cart:*", "cart:**", False),
    ],
)
def test_parent_pattern_covers_narrower_child_pattern(parent: str, child: str, expected: bool) -> None:
    assert pattern_covers_pattern(parent, child) is expected


def test_specificity_orders_exact_then_deep_then_shallow_then_star() -> None:
    patterns = ["*", "a:*", "a:b:c", "a:b:c:*", "a:b:*"]
    assert sorted(patterns, key=specificity) == ["a:b:c", "a:b:c:*", "a:b:*", "a:*", "*"]


SEGMENTS = st.sampled_from(["a", "b", "ab", "a.b", "a-b", "0"])
SCOPES = st.lists(SEGMENTS, min_size=1, max_size=5).map(":".join)
PATTERNS = st.one_of(
    st.just("*"),
    SCOPES,
    st.lists(SEGMENTS, min_size=1, max_size=4).map(lambda parts: ":".join(parts) + ":*"),
)


@given(parent=PATTERNS, child=PATTERNS, scope=SCOPES)
def test_covered_pattern_gives_nothing_that_its_parent_does_not(parent: str, child: str, scope: str) -> None:
    if pattern_covers_pattern(parent, child) and covers(child, scope):
        assert covers(parent, scope)


@given(pattern=PATTERNS, scope=SCOPES)
def test_pattern_and_scope_agree_whichever_question_is_asked(pattern: str, scope: str) -> None:
    assert covers(pattern, scope) is pattern_covers_pattern(pattern, scope)


@given(text=st.text(alphabet="ab:*.-_ \n", max_size=12))
def test_every_text_is_judged_without_an_accident(text: str) -> None:
    def accepted(check: object) -> bool:
        try:
            return bool(check(text))  # type: ignore[operator]
        except ValueError:
            return False

    if accepted(check_scope):
        assert accepted(check_pattern)
        assert "*" not in text
