"""Patterns mean what ECMA-262 says, and none can hang the site."""

import time

import pytest

from agentweb.wire.schema import SchemaError, compile_schema
from agentweb.wire.schema.pattern_samples import sample
from agentweb.wire.schema.pattern_shapes import shape_problem
from agentweb.wire.schema.patterns import compile_pattern
from agentweb.wire.schema.regex import PatternError, parse


def fits(pattern, text):
    return compile_pattern(pattern).matches(text)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("^[a-z]+$", "abc", True),
        ("^[a-z]+$", "abc\n", False),  # Python's $ would match before the newline
        ("a$|b", "a\nb", True),
        ("[$]", "$", True),
        (r"\$$", "5$", True),
        (r"^\d$", "٣", False),
        (r"^\d$", "3", True),
        (r"^\D$", "٣", True),
        (r"^[^\d]$", "٣", True),
        (r"^[\D]$", "3", False),
        (r"^[\Dx3]$", "3", True),
        (r"^\w$", "é", False),
        (r"^\W$", "é", True),
        (r"^\s$", "\u00a0", True),
        (r"^\s$", "\ufeff", True),
        (r"^\s$", "\x1c", False),  # Python counts it as white space
        (r"^\S$", "\u2003", False),
        (r"\bfoo\b", "a foo b", True),
        (r"\bfoo\b", "éfoo", True),  # é is no word character in ECMA-262
        (r"\Boo", "foo", True),
        (r"\Boo", "oo", False),
        ("^.$", "\u2028", False),
        ("^.$", "\r", False),
        ("^.$", "😀", True),
        (r"^\uD83D\uDE00$", "😀", True),
        (r"^\u{1F600}$", "😀", True),
        (r"^[\u{1F600}-\u{1F64F}]$", "😀", True),
        (r"^\x41\cJ\0\t$", "A\n\0\t", True),
        (r"^\/\-\.$", "/-.", True),
        (r"^\p{Lu}\P{Lu}$", "Ée", True),
        (r"^\p{Script=Greek}+$", "αβγ", True),
        (r"^[\p{L}0-9]+$", "é5", True),
        (r"^[^\p{L}0-9]$", "é", False),
        (r"^[^\p{L}0-9]$", "-", True),
        (r"^(?<year>\d{4})-\k<year>$", "2026-2026", True),
        (r"^(a)?\1b$", "b", True),  # a group that took no part matches the empty text
        (r"^(a)(b)\2\1$", "abba", True),
        (r"^(?:a|b){2}$", "ab", True),
        (r"^(?=a)(?!ab)a.(?<=c)(?<!b)$", "ac", True),
        ("^a{,2}$", "a{,2}", True),  # no quantifier in ECMA-262
        ("^x{e<=1}$", "x{e<=1}", True),  # a fuzzy match to the regex package
        ("^x{e<=1}$", "y", False),
        ("^a{2,3}?$", "aaa", True),
        ("^[[:alpha:]]$", "a]", True),  # POSIX classes are Python's regex package's, not ECMA-262's
        ("^[a&&b]$", "&", True),
        ("^[a||b~~&&]+$", "|~&", True),
        ("^[^]$", "\n", True),
        ("[]", "", False),
        ("^[-a]+[a-]$", "-a-", True),
        (r"^[\b]$", "\b", True),
        ("^]}$", "]}", True),
        ("", "anything", True),
        ("a||b", "zzz", True),
        ("()", "x", True),
    ],
)
def test_a_pattern_means_what_ecma_262_says(pattern, text, expected):
    assert fits(pattern, text) is expected


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "(?", "(?P<a>b)", "(?i)a", "(?#c)", "(?>a)", "[a", "[z-a]", r"[\d-z]", "*a", "+", "?", "{2}"),
        *("a**", "a*+", "a{2}{3}", "a{3,2}", "^*", "(?=a)*", r"\b+", r"\A", r"\Z", r"\z", r"\G", r"\K", r"\R", r"\X"),
        *(r"\q", r"\_", r"\1", r"(a)\2", r"\k<a>", r"\k", r"\01", r"\x1", r"\u12", r"\u{110000}", r"\p{", r"\c1"),
        *(r"\p", r"\p{NoSuchProperty}", "\\", "[\\", "(" * 60 + ")" * 60, "(?<a>x)(?<a>y)"),
    ],
)  # fmt: skip
def test_what_is_not_ecma_262_is_refused_when_the_schema_is_compiled(pattern):
    with pytest.raises(PatternError):
        compile_pattern(pattern)
    with pytest.raises(SchemaError) as caught:
        compile_schema({"properties": {"a": {"pattern": pattern}}})
    assert caught.value.problems[0]["pointer"] == "/properties/a/pattern"
    with pytest.raises(SchemaError):
        compile_schema({"patternProperties": {pattern: True}})


@pytest.mark.parametrize(
    "pattern",
    ["((a{1000}){1000}){1000}", "a{999999999}", "((((a?){99}){99}){99}){99}", "(?:ab{0,9}){20000,}"],
)
def test_a_pattern_too_large_to_compile_is_refused_before_the_engine_sees_it(pattern):
    with pytest.raises(PatternError):
        compile_pattern(pattern)


SLOW = r"^(?:(a|a)+b?)+$"


def test_a_pattern_that_takes_exponential_time_is_a_problem_and_not_a_hang():
    compiled = compile_schema({"items": {"pattern": SLOW}})
    started = time.thread_time()
    problems, _ = compiled.problems(["a" * 40 + "!"] * 200)
    assert time.thread_time() - started < 5
    assert {(problem["code"], problem["expected"]) for problem in problems} == {("pattern", SLOW)}
    assert "too long to check" in problems[-1]["message"]
    assert compiled.is_valid(["aab", "ab"])


def test_a_slow_pattern_for_member_names_is_a_problem_and_not_a_hang():
    compiled = compile_schema({"patternProperties": {SLOW: {"type": "integer"}}})
    started = time.thread_time()
    problems, _ = compiled.problems({"a" * 40 + f"!{number}": 1 for number in range(50)})
    assert time.thread_time() - started < 5
    assert {problem["code"] for problem in problems} == {"pattern"}
    closed = compile_schema({"patternProperties": {SLOW: True}, "unevaluatedProperties": False})
    assert not closed.is_valid({"a" * 40 + "!": 1})


def test_long_texts_are_matched_under_the_limit_too():
    compiled = compile_schema({"pattern": "^[a-z ]*$"})
    assert compiled.is_valid("lorem ipsum " * 50_000)
    started = time.thread_time()
    assert not compile_schema({"pattern": "a*a*a*a*b$"}).is_valid("a" * 100_000)
    assert time.thread_time() - started < 5


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$",
        "^(a*)*$",
        "(a|a)*b",
        "(a|ba|ab)*c",
        "(a?a?-)*x",
        "^(a{2,4}b?){9}$",
        "(((((a|b|ab){4}){4}){4}){4}){4}",
        "(?:a|b|[ab]c?)+",
        r"(\w+\s?)*$",
        r"(\d+|\w+)+!",
        "((a{1,9}){1,9}){1,9}",
        "(a?){30}a{30}",
        "([a-z]+){2,}",
        "(?:(?:x+)y?)+z",
        "(.*,)+x",  # the separator can be part of what it separates
        "((a+b)+a)+",
        "((a+)b?)+",
        "(a+b?a+)*",
        "((a|b)*c?)*",
        "(a?b?)*",
        "(|a|b)*c",
        "((a?|b?)-)*x",
        r"(a)\1+",
        "a{5000}",
        r"(\p{L}+\p{Lu})*x",
        "(a{1,900}b{1,900}){9}",
    ],
)
def test_shapes_that_may_take_exponential_time_are_refused_in_foreign_schemas(pattern):
    assert shape_problem(parse(pattern)) is not None
    with pytest.raises(SchemaError) as caught:
        compile_schema({"pattern": pattern}, foreign=True)
    assert caught.value.problems[0]["pointer"] == "/pattern"
    compile_schema({"pattern": pattern})  # the site's own author is trusted, and timed


@pytest.mark.parametrize(
    "pattern",
    [
        "^[a-z0-9]+(-[a-z0-9]+)*$",
        r"^(\d{1,3}\.){3}\d{1,3}$",
        r"^[^@ ]+@[^@ ]+\.[a-z]{2,}$",
        "^(red|green|blue)+$",
        r"^#(?:[0-9a-f]{3}){1,2}$",
        r"^[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){2,7}$",
        "^.*$",
        r"^/(?:[\w-]+/)*$",
        "(a{2}b)*",
        "((a+b)+b)+",
        "^(?:foo|far|jpg|jpeg)+$",
        "^(?:mon|tue|thu)(?:, ?(?:mon|tue|thu))*$",
        r"^(\p{L}+-)*$",
        r"^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,63}$",
        "^(ab?){0,30}$",
        "(a|ab)*c",
    ],
)
def test_ordinary_shapes_are_accepted_in_foreign_schemas(pattern):
    assert compile_schema({"pattern": pattern}, foreign=True)


def test_a_foreign_pattern_has_at_most_200_characters():
    assert compile_schema({"pattern": "a" * 200}, foreign=True)
    for schema in ({"pattern": "a" * 201}, {"patternProperties": {"a" * 201: True}}):
        with pytest.raises(SchemaError):
            compile_schema(schema, foreign=True)


@pytest.mark.parametrize(
    "pattern",
    [
        *("^[A-Z]{3}-\\d+$", "^(?:foo|bar)x?$", "^[^abc]$", r"^\p{L}$", "^.+@.+$", r"^\P{L}$", "^[^\\p{L}]{2}$"),
        *("^[é]$", "^(?<x>a)b*$", "^a{2,}$", "^$"),
    ],
)  # fmt: skip
def test_samples_fit_their_pattern(pattern):
    assert any(fits(pattern, text) for text in sample(parse(pattern)))
