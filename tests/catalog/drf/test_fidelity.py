"""What the published schema of a serializer says of an input is what the serializer says of it.

``PROBES`` change one member of a valid input. ``STRICTER`` are the accepted differences where the schema is the
stricter one: DRF also reads what is written in another way, and agents are asked for one way. ``LAXER`` are those
where only the database, the URLconf, the calendar or the site's own code can know. Both lists are complete in kind,
and stand in docs/how-to/expose-a-drf-api.md.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.http import HttpRequest, HttpResponse
from django.urls import path

from agentweb.catalog.drf.data import as_data
from agentweb.catalog.drf.serializer_schemas import schema_of_serializer
from agentweb.wire.schema import compile_schema
from agentweb.wire.strict_json import Json, dumps, loads
from tests.catalog.drf.everything import Everything, valid
from tests.site.models import Note, Stock


class _Gone:
    """Stands for a member that is left out; named the same in every process that collects the tests."""

    def __repr__(self) -> str:
        return "left out"


GONE = _Gone()
"""The member is left out."""

PROBES: list[tuple[str, Any]] = [
    *[
        ("text", value)
        for value in (GONE, None, "", " ", "\n\t ", " a ", "a\nb", True, [], {}, "ä", "x" * 5000)
    ],
    *[("secret", value) for value in ("", " ", "a", None)],
    *[("short", value) for value in ("ab", "abc", "abcdef", "abcdefg", " ab ", "a b", "  a  ")],
    *[("blank", value) for value in (" ", "ab", "abc", " ab ", "a b", None, GONE, "\n")],
    *[("raw_blank", value) for value in (" ", "ab", "abc", "   ", None)],
    *[("nullable_text", value) for value in ("", "a", GONE)],
    *[("optional", value) for value in (GONE, "", "a", None)],
    *[("default", value) for value in (GONE, "a", None)],
    *[("code", value) for value in ("ab-1", "AB-", "AB-123456", "XAB-1", "", "AB-١٢")],
    *[("word", value) for value in ("a b", "___", "_a", "-")],
    *[("slug", value) for value in ("a b", "", "ä", "-", "a/b")],
    *[("unicode_slug", value) for value in ("a b", "", "日本", "a/b")],
    *[
        ("email", value)
        for value in (
            "",
            "a",
            "a@b",
            "a@b.c",
            "a@b.co",
            "a@localhost",
            "a b@c.de",
            "@b.co",
            "a@b.co.",
            "a@-b.co",
            "a@b.c1",
            "a+b@c.co",
            "a..b@c.co",
            "a@b..co",
            "a@xn--bcher-kva.example",
            None,
        )
    ],
    *[("blank_email", value) for value in ("a", "a@b.co", None)],
    *[
        ("url", value)
        for value in (
            "",
            "example.org",
            "//example.org",
            "mailto:a@b.co",
            "javascript:alert(1)",
            "http://a",
            "http://a.b",
            "http://localhost:8000/x",
            "ftp://example.org",
            "http://1.2.3.4/",
            "http://999.1.1.1/",
            "http://01.2.3.4",
            "http://-a.com",
            "http://a-.com",
            "http://example.org:99999999",
            "https://example.org/a b",
            "https://example.org?x=1",
            "https://",
            None,
        )
    ],
    *[("uuid", value) for value in ("", "x", "123e4567-e89b-42d3-a456-42661417400", None, [])],
    *[("ip", value) for value in ("", "1.2.3", "1.2.3.4.5", "::1", "::g", "256.1.1.1", "a", None)],
    *[("ipv4", value) for value in ("::1", "1.2.3.4", "01.2.3.4")],
    *[("ipv6", value) for value in ("::1", "1.2.3.4", "::ffff:1.2.3.4")],
    *[
        ("integer", value)
        for value in (0, 1, 10, 11, Decimal("1.5"), Decimal("2.0"), None, "", "a", [], {}, GONE)
    ],
    *[("big", value) for value in (2**70, -(2**70), 0, "a")],
    *[("even", value) for value in (3, -4, -6, 0)],
    *[("floating", value) for value in (Decimal("0.5"), Decimal("0.49"), 1, 10**30, "a", None, [])],
    *[
        ("price", value)
        for value in (
            Decimal("0.01"),
            0,
            Decimal("0.00"),
            Decimal("999.99"),
            1000,
            999,
            Decimal("1.001"),
            Decimal("1.500"),
            Decimal("1E+2"),
            Decimal("1E+3"),
            -1,
            "a",
            None,
            [],
            GONE,
        )
    ],
    *[
        ("share", value)
        for value in (0, Decimal("0.999"), 1, -1, Decimal("-0.5"), Decimal("0.1234"), Decimal("0.000"))
    ],
    *[("endless", value) for value in (0, -1, 10**30, Decimal("1E-30"), "a", None)],
    *[("rounded", value) for value in (10**15, Decimal("0.25"), -1, "1.25", f"{'9' * 27}.5")],
    # The text of a decimal, as it is answered.
    *[("price", value) for value in ("12.50", "12.5", "12", "999.99", "1000.00", "1.001", "a", "", "-")],
    *[("share", value) for value in ("0.125", "0.5", "0", "-0.5", "1", "1.5", "0.1234", ".5x")],
    *[("endless", value) for value in ("1.23456789", "-0.5", "a")],
    *[("yes", value) for value in (False, None, "a", 2, [], {}, GONE)],
    *[("maybe", value) for value in (True, "a", 2, GONE)],
    *[
        ("day", value)
        for value in ("2026-02-28", "2026-02-29", "0000-01-01", "31.01.2026", "", None, 5, "2026-13-01", "x")
    ],
    *[
        ("german_day", value)
        for value in ("1.1.2026", "31.13.2026", "32.01.2026", "01.02.26", "2026-01-31", "", None, "1.1.0000")
    ],
    *[("either_day", value) for value in ("2026-02-30", "x")],
    *[
        ("moment", value)
        for value in (
            "2026-01-31T12:00:00+02:00",
            "2026-01-31T24:00:00Z",
            "2026-01-31T12:60:00Z",
            "2026-12-31T23:59:60Z",
            "2026-02-30T12:00:00Z",
            "0000-01-01T00:00:00Z",
            "2026-01-31T12:00:00.123456Z",
            "2026-01-31T12:00:00.1234567891Z",
            "2026-01-31T12:00:00z",
            "",
            "x",
            None,
            5,
            [],
        )
    ],
    *[("minute", value) for value in ("2026-01-31 25:00", "2026-01-31T12:00:00Z", "2026-01-31 7:5")],
    *[("time", value) for value in ("24:00", "12:60", "12:00:59", "12:00:00.5", "", None, "x")],
    *[("hour", value) for value in ("23h", "24h", "h", "12:00")],
    *[
        ("lasting", value)
        for value in (
            "1",
            "1:30",
            "26:00:00",
            "1 02:00:00",
            "PT5M",
            "P1Y",
            "x",
            None,
            [],
            "1,5 days",
        )
    ],
    *[("choice", value) for value in ("b", "c", "", "A", "Apple", None, 1, [])],
    *[("grouped", value) for value in ("a", "v", "Fruit", " ", None)],
    *[("enum", value) for value in ("s", "Small", "SMALL", "", GONE)],
    *[("numbered", value) for value in (2, 3, Decimal("1.0"), True, "x", None)],
    *[("mixed", value) for value in (1, Decimal("1.0"), Decimal("2.5"), Decimal("2.50"), 2, "x", True)],
    *[("many", value) for value in (["x"], ["x", "y"], ["x", "x"], ["z"], ["x", None], "x", None, 5)],
    *[("some", value) for value in ([], ["y"], [""])],
    *[("texts", value) for value in ([], ["a", "b"], ["a", "b", "c"], ["abcd"], [""], [None], "a", {}, None)],
    *[("numbers", value) for value in ([], [None], ["a"], [Decimal("1.5")])],
    *[("anything", value) for value in ([], [None, {}, [Decimal("1.5")]], "a", {}, 5)],
    *[("by_name", value) for value in ({}, {"a": -1}, {"a": None}, {"": 1}, [], "a", {"a": "x"})],
    *[("any_names", value) for value in ({}, {"a": {"b": Decimal("1.5")}}, [], None)],
    *[("store", value) for value in ({}, {"a": ""}, {"a": [1]}, {"a": True}, [])],
    *[("json", value) for value in (None, 0, "", [], Decimal("1.5"), False, GONE)],
    *[("nullable_json", value) for value in (1, [None], GONE)],
    *[
        ("place", value)
        for value in (
            {},
            {"city": ""},
            {"city": "x" * 11},
            {"city": "Rome", "floor": "a"},
            None,
            [],
            "Rome",
            {"floor": 1},
            GONE,
        )
    ],
    *[("nullable_place", value) for value in ({"city": "Rome"}, {}, [], GONE)],
    *[
        ("places", value)
        for value in ([], [{}], [None], {"city": "Rome"}, [{"city": "Rome"}, {"city": ""}], None)
    ],
    *[("few_places", value) for value in ([], [{"city": "a"}] * 2, [{"city": "a"}] * 3)],
    *[
        ("tree", value)
        for value in (
            {"name": "a"},
            {"branches": []},
            {"name": "a", "branches": [{}]},
            {"name": "a", "branches": [{"name": "b", "branches": [{"name": ""}]}]},
        )
    ],
    *[("row", value) for value in (None, "", "a", True, [], {}, GONE)],
    *[("nullable_row", value) for value in (1, "a", GONE)],
    *[("rows", value) for value in ([], ["a"], [None], [True], 1, None)],
    *[("some_rows", value) for value in ([], [1])],
    *[("by_text_key", value) for value in ("", None, [], True, 5)],
    *[("by_key_field", value) for value in ("a", None, [])],
    *[("slugged", value) for value in ("", None, 5)],
    *[("slugged_many", value) for value in ([], [None], "staff", None)],
    *[
        ("linked", value)
        for value in ("https://shop.example/notes/1/", "notes/1/", "", None, 5, "mailto:a@b.co")
    ],
]

STRICTER: list[tuple[str, Any]] = [
    # A number, a truth value or a text that stands for another type.
    ("text", 5),
    ("integer", "5"),
    ("integer", "5.0"),
    ("floating", "0.75"),
    ("floating", True),
    ("yes", "true"),
    ("yes", "on"),
    ("yes", 1),
    ("maybe", "null"),
    ("maybe", ""),
    ("numbered", "1"),
    ("row", "1"),
    ("by_key_field", "1"),
    ("nullable_row", ""),
    ("lasting", 60),
    ("store", {"a": 5}),
    ("many", {"x": 1}),
    ("rows", {}),
    ("row", Decimal("1.5")),
    ("uuid", 5),
    ("price", "1e1"),
    ("price", "1."),
    ("price", "1.500"),
    ("price", " 12.50"),
    ("price", "012.50"),
    # What DRF cannot round is refused before it fails on it; the text of it may be longer.
    ("rounded", 10**26),
    ("rounded", -(10**26)),
    # One query for each item.
    ("rows", [1, 1]),
    # White space around a text counts for maxLength, a format, a pattern and a choice.
    ("short", "  abcdef  "),
    ("code", " AB-12 "),
    ("slug", " a"),
    ("email", " ada@example.org "),
    ("url", " https://example.org"),
    ("blank_email", "  "),
    ("ipv4", " 1.2.3.4"),
    # Another way to write the same.
    ("uuid", "123e4567e89b42d3a456426614174000"),
    ("uuid", "{123e4567-e89b-42d3-a456-426614174000}"),
    ("uuid", "urn:uuid:123e4567-e89b-42d3-a456-426614174000"),
    ("day", "20260131"),
    ("day", "2026-W05-6"),
    ("either_day", "31.01.2026"),
    ("moment", "2026-01-31T12:00:00"),
    ("moment", "2026-01-31 12:00"),
    ("moment", "2026-01-31"),
    ("time", "12"),
    ("time", "12:00:00+02:00"),
    ("time", "12:00:00.1234567"),
    ("lasting", "1 day, 0:00:01"),
    ("lasting", "P"),
    ("lasting", ""),
    ("ipv6", "fe80::1%eth0"),
    ("email", '"a"@b.co'),
    ("email", "a@[1.2.3.4]"),
    ("email", "a@bücher.example"),
    ("url", "https://bücher.example/"),
    ("url", "https://user:password@example.org/"),
    ("url", "https://[::1]/"),
    ("url", "https://example.org./"),
]

LAXER: list[tuple[str, Any]] = [
    # The bounds of a decimal that is sent as text.
    ("price", "0.00"),
    ("price", "-1.00"),
    # The database.
    ("row", 99),
    ("rows", [1, 99]),
    ("by_text_key", "coffee"),
    ("slugged", "nobody"),
    ("by_key_field", 99),
    # The URLconf.
    ("linked", "/nowhere/"),
    ("linked", "/notes/99/"),
    # The calendar, of a format of the field's own; and the end of time.
    ("german_day", "31.02.2026"),
    ("moment", "0001-01-01T00:00:00+14:00"),
    # White space that is none in ECMA-262, and the length of a host's name.
    ("text", "\x1c"),
    ("blank", "\ufeff"),
    ("url", f"http://{'a.' * 130}com"),
    # Bounds of a duration, which JSON Schema cannot compare.
    ("lasting", "P3D"),
]


def show_note(request: HttpRequest, pk: int) -> HttpResponse:
    return HttpResponse()


urlpatterns = [path("notes/<int:pk>/", show_note, name="note")]


@pytest.fixture(autouse=True)
def rows(db: None, settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    Note.objects.create(pk=1, text="a")
    Stock.objects.create(name="tea", left=1)
    Group.objects.create(name="staff")


SCHEMA = compile_schema(schema_of_serializer(Everything))


def verdicts(member: str, value: Any) -> tuple[list[dict[str, Any]], Any]:
    """The problems by the schema, and the errors by the serializer of what it is given."""
    changed = valid()
    if value is GONE:
        changed.pop(member, None)
    else:
        changed[member] = value
    sent: Json = loads(dumps(changed))
    problems = SCHEMA.problems(sent)[0]
    serializer = Everything(data={})
    serializer.initial_data = as_data(serializer, sent if problems else SCHEMA.prepare(sent))
    serializer.is_valid()
    return problems, serializer.errors


def test_the_valid_input_is_valid() -> None:
    assert verdicts("text", "a") == ([], {})


@pytest.mark.parametrize(("member", "value"), PROBES, ids=repr)
def test_schema_and_serializer_agree(member: str, value: Any) -> None:
    problems, errors = verdicts(member, value)
    assert bool(problems) == bool(errors), (problems, errors)
    assert {problem["pointer"].split("/")[1] for problem in problems} == set(errors)


@pytest.mark.parametrize(("member", "value"), STRICTER, ids=repr)
def test_the_schema_asks_for_one_way_to_write_it(member: str, value: Any) -> None:
    problems, errors = verdicts(member, value)
    assert problems
    assert not errors


@pytest.mark.parametrize(("member", "value"), LAXER, ids=repr)
def test_what_only_the_serializer_can_know_is_left_to_it(member: str, value: Any) -> None:
    problems, errors = verdicts(member, value)
    assert not problems
    assert set(errors) == {member}


@pytest.mark.parametrize(
    ("member", "value"),
    [("rounded", 10**27), ("rounded", -(10**30)), ("rounded", "9" * 28), ("linked", "http://[")],
)
def test_what_makes_drf_itself_crash_is_refused_before(member: str, value: Any) -> None:
    problems, _ = SCHEMA.problems({**valid(), member: value})
    assert [problem["field"] for problem in problems] == [member]
    with pytest.raises((ArithmeticError, ValueError)):
        Everything().fields[member].run_validation(value)


def test_members_that_drf_passes_over_are_refused() -> None:
    for name, value in (("number", 1), ("hidden", 8), ("shown", "x"), ("unknown", 1)):
        problems, errors = verdicts(name, value)
        assert [problem["code"] for problem in problems] == ["unknown_field"]
        assert not errors


def test_every_kind_of_field_is_probed() -> None:
    probed = {member for member, _ in PROBES}
    assert probed | {"number", "hidden", "shown"} == set(Everything().fields)
    assert len(PROBES) >= 120
