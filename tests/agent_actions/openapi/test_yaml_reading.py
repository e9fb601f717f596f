"""YAML says what JSON can, by the schema that OpenAPI asks for, and nothing else."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from agentweb.agent_actions.openapi.yaml_reading import read_yaml
from agentweb.wire.errors import AgentError


def read(text: str | bytes) -> Any:
    return read_yaml(text if isinstance(text, bytes) else text.encode(), max_bytes=1_000_000)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("On", "On"),
        ("12:30", "12:30"),
        ("2026-11-30", "2026-11-30"),
        ("0777", 777),
        ("0x1F", 31),
        ("0o17", 15),
        ("1_000", "1_000"),
        ("1.10", Decimal("1.1")),
        ("1e3", 1000),
        (".inf", ".inf"),
        ("true", True),
        ("~", None),
        ("", None),
        ('"7"', "7"),
        ("v1.2", "v1.2"),
    ],
)
def test_scalars_are_read_by_the_core_schema(text: str, value: Any) -> None:
    assert read(f"[{text or 'null'}]") == [value]


def test_names_are_texts_whatever_they_look_like() -> None:
    assert read("responses:\n  200: {description: Fine}\n  no: 1\n") == {
        "responses": {"200": {"description": "Fine"}, "no": 1}
    }


def test_aliases_are_written_out() -> None:
    assert read("a: &one {b: 1}\nc: *one\n") == {"a": {"b": 1}, "c": {"b": 1}}


BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]\n" for at in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2\n", r"'a' stands twice \(line 2, column 1\)"),
        ("a: !!python/object:os.system x\n", "means nothing here"),
        ("a: !!binary aGk=\n", "means nothing here"),
        ("a: !!int x\n", "no number"),
        ("<<: {a: 1}\n", "a name is no text"),
        ("? [a]\n: 1\n", "a name is no text"),
        ("a: &a [*a]\n", "too large or too deep"),
        (BOMB, "too large or too deep"),
        ("[" * 5_000, "deep"),
        ("a: [1\n", "line 2"),
        ("a: 1\n---\nb: 2\n", "another document"),
        (b"\xff\xfe", "not in UTF-8"),
    ],
    ids=[
        "twice",
        "python",
        "binary",
        "int",
        "merge",
        "list",
        "circle",
        "bomb",
        "deep",
        "broken",
        "two",
        "bytes",
    ],
)
def test_what_json_cannot_say_is_refused(text: str | bytes, words: str) -> None:
    with pytest.raises((ValueError, AgentError), match=words):
        read(text)
