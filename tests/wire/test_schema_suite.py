"""The official JSON-Schema-Test-Suite, draft 2020-12: every required test, and the formats we assert."""

import json
from decimal import Decimal

import pytest

from agentweb.wire.schema import SchemaError, compile_schema
from agentweb.wire.schema.formats import FORMATS
from agentweb.wire.schema.loading import DIALECT
from tests.vectors_dir import VECTORS

SUITE = VECTORS / "json-schema-2020-12" / "tests"


def groups(paths):
    return [
        pytest.param(group, id=f"{path.stem}: {group['description']}")
        for path in paths
        for group in json.loads(path.read_text(), parse_float=Decimal)
    ]


REQUIRED = groups(sorted(SUITE.glob("*.json")))
ASSERTED = groups(SUITE / "optional/format" / f"{name}.json" for name in sorted(FORMATS))
# Left out: cross-draft, dependencies-compatibility, format-assertion, id, dynamicRef and refOfUnknownKeyword,
# which are about other dialects, other documents, and references to what is no schema. They are refused.
OPTIONAL = groups(
    SUITE / "optional" / f"{name}.json"
    for name in (
        "anchor",
        "bignum",
        "ecmascript-regex",
        "float-overflow",
        "no-schema",
        "non-bmp-regex",
        "unknownKeyword",
    )
)


def refers_outside(schema):
    """A reference that does not start with ``#`` names another document, or this one by its address."""
    if isinstance(schema, dict):
        for keyword in ("$ref", "$dynamicRef"):
            if isinstance(schema.get(keyword), str) and not schema[keyword].startswith("#"):
                return True
        return any(refers_outside(value) for name, value in schema.items() if name not in {"enum", "const"})
    return isinstance(schema, list) and any(refers_outside(value) for value in schema)


def is_refused(schema):
    """Only references inside the schema are followed, and only the 2020-12 dialect is understood."""
    return refers_outside(schema) or (isinstance(schema, dict) and schema.get("$schema", DIALECT) != DIALECT)


@pytest.mark.parametrize("accelerate", [True, False], ids=["quick", "plain"])
@pytest.mark.parametrize("group", REQUIRED + OPTIONAL)
def test_official_vectors_hold_or_the_schema_is_refused(group, accelerate):
    if is_refused(group["schema"]):
        with pytest.raises(SchemaError):
            compile_schema(group["schema"])
        return
    compiled = compile_schema(group["schema"], accelerate=accelerate)
    for test in group["tests"]:
        # The suite's format.json wants every format to be an annotation; ours are asserted.
        is_asserted = isinstance(group["schema"], dict) and group["schema"].get("format") in FORMATS
        expected = test["valid"] and not (is_asserted and "only an annotation" in test["description"])
        assert compiled.is_valid(test["data"]) is expected, test["description"]


@pytest.mark.parametrize("accelerate", [True, False], ids=["quick", "plain"])
@pytest.mark.parametrize("group", ASSERTED)
def test_asserted_formats_agree_with_the_official_vectors(group, accelerate):
    compiled = compile_schema(group["schema"], accelerate=accelerate)
    for test in group["tests"]:
        assert compiled.is_valid(test["data"]) is test["valid"], test["description"]


def test_few_required_groups_are_refused():
    refused = [each for each in REQUIRED if is_refused(each.values[0]["schema"])]
    tests = sum(len(each.values[0]["tests"]) for each in REQUIRED)
    assert (len(refused), len(REQUIRED), tests) == (55, 383, 1299)
