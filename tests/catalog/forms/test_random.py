"""Many values for every field: what the schema takes, the form takes, and nothing makes it crash."""

from __future__ import annotations

import random
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, Final

import pytest
from django.contrib.auth.models import Group

from agentweb.catalog.forms import form_source
from agentweb.wire.errors import InputError
from agentweb.wire.schema import compile_schema
from tests.catalog.forms.every import Every, alone

CHARACTERS: Final = "ab0 19-_.@+:/\\[]\"'<>%TZPDHMSüß漢\u00a0\u2028\ufeff\t\n\r٣e,"
TEXTS: Final = (
    "name@shop.example",
    "name@a.b.cc",
    "https://shop.example/a",
    "http://1.2.3.4:99999/",
    "ftp://ex-ample.com?x",
    "2026-01-31",
    "2026-01-31T12:00:00Z",
    "0001-01-01",
    "12:30:59.123",
    "P1DT2H3M4.5S",
    "-P99999999DT99999999H",
    "192.0.2.1",
    "2001:db8::1",
    "123e4567-e89b-42d3-a456-426614174000",
    "staff",
    "x12",
    "xl",
)
NUMBERS: Final = (
    0,
    1,
    2,
    5,
    10,
    15,
    -1,
    10**30,
    -(2**63),
    Decimal("1E-30"),
    Decimal("0.75"),
    Decimal("12.34"),
)
KNOWN_TO_THE_FORM: Final = {"step", "odd", "digits", "later", "group", "named", "groups"}
"""Fields of which test_fidelity lists what only the form can know; the others' schemas say it all."""


def a_text(chance: random.Random) -> str:
    """A text that is nearly one of TEXTS, or a short one of CHARACTERS."""
    if chance.random() < 0.3:
        return "".join(chance.choices(CHARACTERS, k=chance.randint(0, 8)))
    letters = list(chance.choice(TEXTS))
    for _ in range(chance.randint(0, 3)):
        place = chance.randrange(len(letters))
        letters[place : place + chance.randint(0, 1)] = chance.choices(CHARACTERS, k=chance.randint(0, 1))
        letters = letters or ["a"]
    return "".join(letters)


def a_value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.random()
    if kind < 0.6:
        return a_text(chance)
    if kind < 0.8:
        return chance.choice(NUMBERS)
    if kind < 0.9 or depth == 2:
        return chance.choice((True, False, None))
    if kind < 0.97:
        return [a_value(chance, depth + 1) for _ in range(chance.randint(0, 3))]
    return {a_text(chance): a_value(chance, depth + 1)}


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(set(Every.base_fields) - {"photo", "fixed"}))
def test_the_form_takes_whatever_the_schema_takes(name: str) -> None:
    Group.objects.create(pk=1, name="staff")
    chance = random.Random(name)
    source = form_source(alone(name))
    compiled = compile_schema(source.schema)
    refused = []
    for _ in range(1_000):
        value = {name: a_value(chance)}
        if compiled.is_valid(value):
            try:
                source.to_python(compiled.prepare(value), SimpleNamespace())
            except InputError as error:
                refused.append((value, error.problems))
    assert name in KNOWN_TO_THE_FORM or refused == []
