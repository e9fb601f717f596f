"""A manifest against the schema: every problem, its place in the file, and what to write instead."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentweb.awp import discovery_schema
from agentweb.awp.compliance.manifest import validate
from agentweb.awp.compliance.problems import Problem, Severity
from agentweb.awp.compliance.reading import Spot
from agentweb.wire.clock import clock
from tests.awp.compliance.sites import NOW, manifest


def text_of(**members: Any) -> bytes:
    value = {**manifest(), **members}
    return json.dumps({name: each for name, each in value.items() if each is not None}, indent=1).encode()


def found(data: bytes) -> list[Problem]:
    with clock(lambda: NOW):
        return list(validate(data).problems)


def errors(data: bytes) -> list[Problem]:
    return [problem for problem in found(data) if problem.severity is Severity.ERROR]


def test_a_sound_manifest_has_no_problems() -> None:
    assert found(text_of()) == []


def test_the_least_manifest_is_valid_and_told_what_is_recommended() -> None:
    least = {name: manifest()[name] for name in ("version", "name", "description", "capabilities")}
    problems = found(json.dumps({**least, "endpoints": {"manifest": "/awp/manifest.json"}}).encode())
    assert {(problem.severity, problem.pointer) for problem in problems} == {
        (Severity.NOTE, "/endpoints/content"),
        (Severity.NOTE, "/updated_at"),
        (Severity.NOTE, "/authentication"),
        (Severity.NOTE, "/rate_limits"),
    }
    assert all(problem.fix.startswith("Add ") for problem in problems)


BREAKS: list[Any] = [
    ("version-number", {"version": 1}, "/version", '"version": "1.0"'),
    ("version-patch", {"version": "1.0.1"}, "/version", '"version": "1.0"'),
    ("no-version", {"version": None}, "/version", 'Add "version": "1.0"'),
    ("empty-name", {"name": ""}, "/name", '"name": "Corner Shop"'),
    ("long-name", {"name": "x" * 101}, "/name", '"name"'),
    ("short-description", {"description": "Teas"}, "/description", "one or two sentences"),
    ("no-capability", {"capabilities": []}, "/capabilities", '["content"]'),
    ("unknown-capability", {"capabilities": ["content", "chat"]}, "/capabilities/1", "Take it out"),
    ("capability-twice", {"capabilities": ["api", "api"]}, "/capabilities", "Keep one"),
    ("endpoints-as-a-list", {"endpoints": []}, "/endpoints", '"endpoints": {"manifest"'),
    ("no-endpoint", {"endpoints": {}}, "/endpoints/manifest", 'Add "manifest"'),
    (
        "an-url",
        {"endpoints": {"manifest": "https://shop.example/"}},
        "/endpoints/manifest",
        '"/awp/manifest.json"',
    ),
    ("a-number-as-endpoint", {"endpoints": {"manifest": "/m", "mcp": 1}}, "/endpoints/mcp", '"mcp": "/mcp"'),
    ("required-as-text", {"authentication": {"required": "no"}}, "/authentication/required", "false"),
    ("a-method-as-number", {"authentication": {"methods": [1]}}, "/authentication/methods/0", "Write a text"),
    ("no-requests", {"rate_limits": {"requests_per_minute": 0}}, "/rate_limits/requests_per_minute", "60"),
    ("half-a-request", {"rate_limits": {"requests_per_day": 1.5}}, "/rate_limits/requests_per_day", "10000"),
    ("llms-as-a-list", {"llms_txt": []}, "/llms_txt", '"/llms.txt"'),
    ("a-day", {"updated_at": "2025-06-10"}, "/updated_at", "T12:00:00Z"),
]


@pytest.mark.parametrize(
    ("members", "pointer", "fix"), [each[1:] for each in BREAKS], ids=[each[0] for each in BREAKS]
)
@pytest.mark.requirement("AWP-2.18")
def test_each_rule_of_the_schema_is_told_with_place_and_fix(
    members: dict[str, Any], pointer: str, fix: str
) -> None:
    data = text_of(**members)
    problems = errors(data)
    assert pointer in {problem.pointer for problem in problems}
    for problem in problems:
        assert fix in problem.fix
        assert problem.spot is not None
        line = data.decode().splitlines()[problem.spot.line - 1]
        name = [part for part in problem.pointer.split("/") if part and not part.isdigit()][-1]
        assert f'"{name}"' in line or line[problem.spot.column - 1] in '{["0123456789'


def test_the_schema_has_the_members_of_the_specification() -> None:
    schema = discovery_schema.document()
    Draft202012Validator.check_schema(schema)
    assert schema["required"] == ["version", "name", "description", "capabilities", "endpoints"]
    assert list(schema["properties"]) == [*list(manifest())[:8], "a2a_agent_card", "updated_at"]


@pytest.mark.parametrize("members", [each[1] for each in BREAKS], ids=[each[0] for each in BREAKS])
def test_an_independent_validator_refuses_the_same(members: dict[str, Any]) -> None:
    schema = discovery_schema.document()
    judge = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    assert not judge.is_valid(json.loads(text_of(**members))) or members == {"updated_at": "2025-06-10"}
    assert judge.is_valid(json.loads(text_of()))


@pytest.mark.requirement("AWP-6.6")
def test_an_unknown_member_is_a_note_at_its_name_and_a_slip_is_guessed() -> None:
    [note] = found(b'{"rate_limit": 1,' + text_of(rate_limits={"requests_per_minute": 1})[1:])[:1]
    assert (note.severity, note.code, note.spot) == (Severity.NOTE, "unknown_member", Spot(1, 2))
    data = text_of(rate_limits=None)
    [recommended, note] = found(b'{"rate_limit": {},' + data[1:])
    assert note.fix == 'Did you mean "rate_limits"?'
    assert recommended.pointer == "/rate_limits"
    [note] = found(text_of(endpoints={**manifest()["endpoints"], "sea\u202erch": "/s"}))
    assert note.pointer == "/endpoints/sea\u202erch"
    assert "[U+202E]" in note.message
    assert validate(text_of(x=1)).is_valid


@pytest.mark.requirement("AWP-4.11")
def test_a_description_over_its_budget_is_a_warning_with_the_count() -> None:
    [problem] = found(text_of(description="tea " * 250))
    assert (problem.severity, problem.code) == (Severity.WARNING, "over_budget")
    assert "251 tokens; its budget is 200" in problem.message
    assert validate(text_of(description="tea " * 250)).is_valid


@pytest.mark.parametrize("data", [b"[]", b'"x"', b"1", b"null", b"true"])
def test_what_is_no_object_is_one_error(data: bytes) -> None:
    [problem] = found(data)
    assert problem.message == "The manifest must be an object."
    assert problem.fix.startswith("Write one object")
    assert not validate(data).is_valid


def test_faults_of_the_json_and_of_the_schema_are_told_together() -> None:
    data = b'{"version": "1.0",\n "name": NaN,\n "description": "x"}'
    codes = [(problem.code, problem.pointer) for problem in errors(data)]
    assert ("malformed_json", "/name") in codes
    assert ("minLength", "/description") in codes
    assert ("type", "/name") not in codes


def test_no_manifest_makes_a_list_without_end() -> None:
    many = json.dumps({f"m{number}": 1 for number in range(20_000)}).encode()
    assert len(found(many)) < 100
    wide = text_of(capabilities=[f"c{number}" for number in range(5_000)])
    assert validate(wide).is_cut
    assert len(found(wide)) <= 101
    long_name = json.dumps({"x" * 500_000: {}}).encode()
    assert all(len(problem.message) < 500 for problem in found(long_name))


def test_a_version_that_is_a_number_is_told_once() -> None:
    found = validate(text_of(version=1))
    assert [(each.pointer, each.code) for each in found.problems if each.pointer == "/version"] == [
        ("/version", "const")
    ]
