"""The published schema and the form agree; where they do not, the value stands in a list here and in the docs."""

from __future__ import annotations

import json
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.utils import translation
from django.utils.datastructures import MultiValueDict

from agentweb.catalog.forms import form_source
from agentweb.wire.errors import InputError
from agentweb.wire.schema import compile_schema
from tests.catalog.forms.every import Every, alone

pytestmark = pytest.mark.django_db

GOOD: list[tuple[str, Any]] = [
    ("text", "ab"),
    ("text", "a b c"),
    ("raw", "  "),
    ("note", ""),
    ("note", "   "),
    ("nothing", ""),
    ("checked", "abc"),
    ("regex", "x12"),
    ("regex", "ü12"),
    ("slug", "a-b_C9"),
    ("wide_slug", "größe-2"),
    ("email", "name@shop.example"),
    ("email", "name+tag@localhost"),
    ("email", "name@shop.xn--p1ai"),
    ("url", "https://shop.example"),
    ("url", "http://127.0.0.1:8000/a?b=c#d"),
    ("url", "ftp://localhost/x"),
    ("uuid", "123e4567-e89b-42d3-a456-426614174000"),
    ("address", "192.0.2.1"),
    ("address", "2001:db8::1"),
    ("address4", "192.0.2.1"),
    ("address6", "::ffff:192.0.2.1"),
    ("count", 1),
    ("count", Decimal("2.0")),
    ("step", 15),
    ("odd", 3),
    ("weight", Decimal("0.75")),
    ("price", Decimal("999.99")),
    ("price", Decimal("1.500")),
    ("digits", 999),
    ("local", Decimal("1234.5")),
    ("agreed", True),
    ("loud", False),
    ("loud", True),
    ("maybe", None),
    ("maybe", False),
    ("size", "xl"),
    ("rank", 2),
    ("rank", Decimal("2.0")),
    ("later", "s"),
    ("some", ["a", "b"]),
    ("some", ["a", "a"]),
    ("ranks", [1, Decimal("2.0")]),
    ("ranks", []),
    ("group", 1),
    ("named", "staff"),
    ("groups", [1]),
    ("day", "2026-02-28"),
    ("german_day", "2026-02-28"),
    ("short_day", "1926-02-28"),
    ("chosen_day", "2026-02-28"),
    ("clock", "09:30"),
    ("clock", "23:59:59.5"),
    ("moment", "2026-01-31T12:00:00+02:00"),
    ("moment", "2026-12-31t23:59:60.25z"),
    ("moments", "2026-01-31T12:00:00Z"),
    ("length", "P1DT2H"),
    ("length", "-PT1.5S"),
    ("data", {"a": [1, Decimal("1.5"), None]}),
    ("data", 0),
    ("data", False),
    ("extra", None),
    ("extra", {}),
    ("combo", "a@shop.example"),
    ("span", [1, 2]),
    ("span", [1]),
    ("span", [1, None]),
    ("secret", "  pass "),
]
"""What both accept."""

BAD: list[tuple[str, Any]] = [
    ("text", ""),
    ("text", "a"),
    ("text", "   "),
    ("text", "a   "),
    ("text", "abcdef"),
    ("raw", "a"),
    ("raw", "      "),
    ("note", "abcdef"),
    ("checked", "ab"),
    ("checked", "ABC"),
    ("regex", "1234"),
    ("slug", "a b"),
    ("slug", "größe"),
    ("wide_slug", "a.b"),
    ("email", "name"),
    ("email", "name@shop"),
    ("email", "a b@shop.example"),
    ("email", "a@shop..example"),
    ("email", "a@shop.example1"),
    ("url", "https://1.2.3.b4/"),
    ("url", "mailto:a@shop.example"),
    ("url", "https://shop"),
    ("url", "javascript:alert(1)"),
    ("url", "https://-shop.example"),
    ("uuid", "123"),
    ("address", "1.2.3"),
    ("address4", "::1"),
    ("address6", "192.0.2.1"),
    ("address6", "0000:0000:0000:0000:0000:ffff:192.168.100.228"),
    ("count", 0),
    ("count", 11),
    ("count", Decimal("1.5")),
    ("count", True),
    ("count", "five"),
    ("step", 12),
    ("step", 5),
    ("weight", Decimal("0.3")),
    ("weight", Decimal("0.25")),
    ("price", Decimal("1000")),
    ("price", Decimal("0.001")),
    ("price", Decimal("-1")),
    ("digits", 1000),
    ("agreed", False),
    ("size", "m"),
    ("size", "Big"),
    ("size", ""),
    ("later", ""),
    ("rank", 3),
    ("rank", ""),
    ("some", []),
    ("some", ["c"]),
    ("ranks", [3]),
    ("group", "staff"),
    ("groups", []),
    ("day", "2026-02-30"),
    ("day", "28.02.2026"),
    ("day", "0000-01-01"),
    ("clock", "24:00"),
    ("clock", "noon"),
    ("moment", "2026-13-01T00:00:00Z"),
    ("moment", "tomorrow"),
    ("length", "a day"),
    ("length", ""),
    ("data", {}),
    ("data", ""),
    ("data", None),
    ("combo", "nobody"),
    ("combo", "somebody@long.shop.example"),
    ("span", []),
    ("span", [-1, 2]),
    ("span", [None, 2]),
    ("secret", ""),
]
"""What both refuse."""

ONLY_THE_FORM_TAKES: list[tuple[str, Any]] = [
    ("count", "5"),  # a number in a text
    ("price", "1.50"),
    ("count", " 5 "),
    ("text", "  ab  "),  # blanks around a text, which the form takes away
    ("slug", " a "),
    ("email", " name@shop.example "),
    ("email", '"name"@shop.example'),  # a quoted mailbox, or one at an address
    ("email", "name@[192.0.2.1]"),
    ("url", "shop.example"),  # an address without its scheme, with a name, or with letters that are not ASCII
    ("url", "https://name@shop.example"),
    ("url", "https://shöp.example"),
    ("uuid", "123e4567e89b42d3a456426614174000"),  # another spelling
    ("address", "2001:DB8::1 "),
    ("agreed", "yes"),  # a word for a truth
    ("loud", "on"),
    ("maybe", "true"),
    ("rank", "2"),
    ("some", "a"),  # one value for a list
    ("group", "1"),
    ("moment", "2026-01-31 12:00"),  # the site's own formats, without an offset
    ("day", "01/31/2026"),
    ("clock", "9:30"),
    ("length", "1 02:00:00"),
    ("note", None),  # nothing, for what can be left out
]
"""Coercions of the form that agents do not get: they are told the one way to write it."""

ONLY_THE_SCHEMA_TAKES: list[tuple[str, Any]] = [
    ("text", "\x1f\x1f"),  # control characters that Python takes for blanks
    ("odd", 4),  # a step that does not begin at a multiple of itself
    ("step", 10**30),  # a step so far out that the form's arithmetic loses it
    ("digits", Decimal("1.234")),  # digits before and after the point together
    ("later", "huge"),  # choices of a function, rows of the database
    ("group", 99),
    ("group", 10**30),
    ("named", "nobody"),
    ("groups", [1, 99]),
    ("groups", [1, 10**30]),
    ("moment", "0001-01-01T00:00:00+14:00"),  # the ends of the calendar
]
"""What only the form can know, and refuses."""


@pytest.fixture(autouse=True)
def group() -> None:
    Group.objects.create(pk=1, name="staff")


def schema_takes(name: str, value: Any) -> bool:
    return compile_schema(form_source(alone(name)).schema).is_valid({name: value})


def form_takes(name: str, value: Any) -> bool:
    """Whether the form takes the value as an agent's call hands it over."""
    source = form_source(alone(name))
    compiled = compile_schema(source.schema)
    try:
        source.to_python(compiled.prepare({name: value}), SimpleNamespace())
    except InputError:
        return False
    return True


def form_takes_as_sent(name: str, value: Any) -> bool:
    """Whether the form takes the value as a person's browser would send its text."""
    data: MultiValueDict[str, Any] = MultiValueDict()
    if name == "span":
        data.update({f"span_{position}": part for position, part in enumerate(value) if part is not None})
    elif isinstance(value, list):
        data.setlist(name, value)
    elif name in {"data", "extra"}:
        data[name] = json.dumps(value)
    elif value is not None and value is not False:
        data[name] = str(value)
    return alone(name)(data, MultiValueDict()).is_valid()


@pytest.mark.parametrize(("name", "value"), GOOD)
def test_what_the_schema_takes_the_form_takes(name: str, value: Any) -> None:
    assert schema_takes(name, value)
    assert form_takes(name, value)


@pytest.mark.parametrize("language", ["de", "fr", "ar"])
@pytest.mark.parametrize(("name", "value"), GOOD)
def test_the_form_takes_it_in_every_language(name: str, value: Any, language: str) -> None:
    with translation.override(language):
        assert form_takes(name, value)


@pytest.mark.parametrize(("name", "value"), BAD)
def test_what_the_form_refuses_the_schema_refuses(name: str, value: Any) -> None:
    assert not schema_takes(name, value)
    assert not form_takes_as_sent(name, value)


@pytest.mark.parametrize(("name", "value"), ONLY_THE_FORM_TAKES)
def test_a_coercion_is_not_published(name: str, value: Any) -> None:
    assert form_takes_as_sent(name, value)
    assert not schema_takes(name, value)


@pytest.mark.parametrize(("name", "value"), ONLY_THE_SCHEMA_TAKES)
def test_what_only_the_form_knows_it_refuses_itself(name: str, value: Any) -> None:
    assert schema_takes(name, value)
    assert not form_takes(name, value)


def test_every_field_is_probed() -> None:
    assert {name for name, _ in GOOD} == set(Every.base_fields) - {"photo", "fixed"}
