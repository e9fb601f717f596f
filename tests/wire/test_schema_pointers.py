"""Every problem of a generated failure says where it is: its pointer leads to the value, or names what is missing."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.wire.schema import compile_schema
from tests.support.examples import examples
from tests.wire.schema_pointers import MISSING, resolve
from tests.wire.test_schema_oracle import DEFINITIONS, SCHEMAS, VALUES, with_definitions

ABSENT = {"required", "dependentRequired"}
KINDS = ("a", "b/c", "m~n", "d.e")


def tokens_of(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


@settings(max_examples=examples(150), deadline=None)
@given(SCHEMAS, DEFINITIONS, VALUES)
def test_a_pointer_leads_to_the_value_or_to_the_one_member_that_is_missing(
    schema: Any, definitions: Any, value: Any
) -> None:
    problems, _truncated = compile_schema(with_definitions(schema, definitions), foreign=True).problems(value)
    for problem in problems:
        pointer = problem["pointer"]
        if problem["code"] not in ABSENT:
            assert resolve(value, pointer) is not MISSING, problem
            continue
        parent = resolve(value, pointer.rpartition("/")[0])
        assert isinstance(parent, dict), problem
        assert tokens_of(pointer)[-1] not in parent, problem


@settings(max_examples=examples(60), deadline=None)
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=2, max_size=4, unique=True),
    word=st.sampled_from(["oneOf", "anyOf"]),
    wrong=st.sampled_from([5, None, [], True, MISSING]),
    data=st.data(),
)
def test_of_alternatives_the_one_that_was_meant_is_reported(
    kinds: list[str], word: str, wrong: Any, data: st.DataObject
) -> None:
    meant = data.draw(st.integers(0, len(kinds) - 1))
    branches = [
        {
            "type": "object",
            "properties": {
                "kind": {"const": kind},
                f"of {kind}": {"type": "string"},
                "n": {"type": "integer"},
            },
            "required": ["kind", f"of {kind}"],
        }
        for kind in kinds
    ]
    name = f"of {kinds[meant]}"
    value: dict[str, Any] = {"kind": kinds[meant], "n": 1}
    if wrong is not MISSING:
        value[name] = wrong
    schema = {"properties": {"pay": {word: branches}}}
    [problem] = compile_schema(schema).problems({"pay": value})[0]
    assert tokens_of(problem["pointer"]) == ["pay", name]
    assert problem["code"] == ("required" if wrong is MISSING else "type")
    assert problem["alternative"] == meant
