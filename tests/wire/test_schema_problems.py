"""Problems: complete, sorted, exact pointers, best branch, no value of the instance."""

from decimal import Decimal
from typing import Any

import pytest

from agentweb.wire.errors import InputError
from agentweb.wire.schema import SchemaError, compile_schema
from agentweb.wire.strict_json import dumps
from tests.wire.schema_pointers import resolve

ORDER = {
    "type": "object",
    "properties": {
        "product_id": {"type": "string", "minLength": 1},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 100},
        "price": {"type": "number", "multipleOf": 0.01},
        "address": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"type": "string", "pattern": "^[0-9]{5}$"}},
            "required": ["city"],
            "additionalProperties": False,
        },
        "tags": {"type": "array", "items": {"enum": ["new", "used"]}, "maxItems": 3, "uniqueItems": True},
    },
    "required": ["product_id", "quantity"],
    "additionalProperties": False,
}


def problems_of(schema, value):
    return compile_schema(schema).problems(value)[0]


def the_problem(schema, value):
    [problem] = problems_of(schema, value)
    return problem


def brief(schema, value):
    return [(problem["pointer"], problem["code"]) for problem in problems_of(schema, value)]


def test_every_problem_is_listed_at_once_sorted_by_pointer_and_code():
    value = {
        "quantity": 0,
        "price": Decimal("1.999"),
        "address": {"zip": "1234x", "street": "Long Road"},
        "tags": ["new", "old", "new", "used"],
        "qty": 3,
    }
    assert brief(ORDER, value) == [
        ("/address/city", "required"),
        ("/address/street", "unknown_field"),
        ("/address/zip", "pattern"),
        ("/price", "multipleOf"),
        ("/product_id", "required"),
        ("/qty", "unknown_field"),
        ("/quantity", "minimum"),
        ("/tags", "maxItems"),
        ("/tags", "uniqueItems"),
        ("/tags/1", "enum"),
    ]


def test_a_problem_has_the_documented_shape():
    assert the_problem(ORDER, {"product_id": "a", "quantity": "3"}) == {
        "pointer": "/quantity",
        "field": "quantity",
        "code": "type",
        "message": "'quantity' must be an integer.",
        "expected": "integer",
    }
    assert the_problem(ORDER, {"product_id": "a", "quantity": 1, "tags": ["new", "nw"]}) == {
        "pointer": "/tags/1",
        "field": "tags.1",
        "code": "enum",
        "message": "'tags.1' must be one of: 'new', 'used'.",
        "allowed": ["new", "used"],
    }


def test_required_points_at_the_missing_member_and_not_at_its_parent():
    problems = problems_of(ORDER, {"product_id": "a", "quantity": 1, "address": {}})
    assert problems == [
        {
            "pointer": "/address/city",
            "field": "address.city",
            "code": "required",
            "message": "'address.city' is required; add it.",
        }
    ]


def test_each_unknown_member_is_one_problem_that_names_what_is_known():
    problems = problems_of(ORDER, {"product_id": "a", "quantity": 1, "quantiti": 2, "zzz": 3})
    assert [(problem["pointer"], problem["code"]) for problem in problems] == [
        ("/quantiti", "unknown_field"),
        ("/zzz", "unknown_field"),
    ]
    assert problems[0]["message"] == "'quantiti' is not a member here; did you mean 'quantity'?"
    assert problems[1]["allowed"] == ["address", "price", "product_id", "quantity", "tags"]


def test_unevaluated_members_are_unknown_fields_one_by_one():
    schema = {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False}
    assert brief(schema, {"a": 1, "b": 2, "c": 3}) == [("/b", "unknown_field"), ("/c", "unknown_field")]


def test_a_member_whose_schema_is_false_is_an_unknown_field():
    schema = {"properties": {"a": True, "old": False}}
    problem = the_problem(schema, {"old": 1})
    assert (problem["pointer"], problem["code"]) == ("/old", "unknown_field")
    assert brief(False, 1) == [("", "not_allowed")]


@pytest.mark.parametrize(
    ("name", "token"), [("a/b", "a~1b"), ("m~n", "m~0n"), ("~1", "~01"), ("", ""), (" ", " "), ("0", "0")]
)
def test_pointers_are_escaped_and_resolve_to_the_very_value(name, token):
    value = {"list": [{name: "wrong"}]}
    schema = {
        "properties": {"list": {"items": {"additionalProperties": {"type": "integer"}}}},
    }
    problem = the_problem(schema, value)
    assert problem["pointer"] == f"/list/0/{token}"
    assert resolve(value, problem["pointer"]) == "wrong"


def test_the_whole_input_has_the_empty_pointer_and_the_field_input():
    problem = the_problem({"type": "string", "minLength": 2}, "x")
    assert (problem["pointer"], problem["field"]) == ("", "input")
    assert problem["message"] == "The input must have at least 2 characters; it has 1."


def test_problems_are_capped_at_100_and_say_so():
    compiled = compile_schema({"items": {"type": "string"}})
    problems, truncated = compiled.problems([1] * 100)
    assert (len(problems), truncated) == (100, False)
    problems, truncated = compiled.problems([1] * 101)
    assert (len(problems), truncated) == (100, True)
    problems, truncated = compiled.problems([1] * 50_000)
    assert (len(problems), truncated) == (100, True)


def test_a_problem_found_twice_is_listed_once():
    schema = {"allOf": [{"type": "string"}, {"type": "string"}, {"$ref": "#/allOf/0"}]}
    assert brief(schema, 1) == [("", "type")]


def test_check_raises_input_error_with_everything():
    compiled = compile_schema(ORDER)
    assert compiled.check({"product_id": "a", "quantity": 1}) is None
    with pytest.raises(InputError) as caught:
        compiled.check({}, action="buy")
    assert caught.value.as_dict()["field"] == "product_id"
    assert caught.value.extra == {"action": "buy"}
    assert len(caught.value.problems) == 2
    with pytest.raises(InputError) as caught:
        compile_schema({"items": {"type": "string"}}).check([1] * 200)
    assert caught.value.as_dict()["truncated"] is True


PAYMENT = {
    "properties": {
        "pay": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}},
                    "required": ["kind", "x"],
                },
                {
                    "type": "object",
                    "properties": {"kind": {"const": "b"}, "y": {"type": "string"}},
                    "required": ["kind", "y"],
                },
            ]
        }
    }
}


def test_one_of_blames_the_branch_that_the_discriminator_chose():
    problem = the_problem(PAYMENT, {"pay": {"kind": "b", "y": 5}})
    assert problem == {
        "pointer": "/pay/y",
        "field": "pay.y",
        "code": "type",
        "message": "'pay.y' must be a string.",
        "expected": "string",
        "alternative": 1,
    }


def test_one_of_with_an_unknown_discriminator_offers_all_of_them():
    problem = the_problem(PAYMENT, {"pay": {"kind": "c", "x": 1}})
    assert (problem["pointer"], problem["code"], problem["allowed"]) == ("/pay/kind", "enum", ["a", "b"])
    assert "alternative" not in problem


def test_any_of_takes_the_branch_of_the_right_type_first():
    schema = {"anyOf": [{"type": "null"}, {"type": "object", "required": ["a", "b", "c"]}]}
    problems = problems_of(schema, {"a": 1})
    assert [(each["pointer"], each["alternative"]) for each in problems] == [("/b", 1), ("/c", 1)]


def test_any_of_where_every_type_is_wrong_names_all_types():
    schema = {"properties": {"when": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}}}
    problem = the_problem(schema, {"when": 5})
    assert (problem["code"], problem["expected"]) == ("type", ["string", "null"])
    assert problem["message"] == "'when' must be a string or null."
    problem = the_problem(schema, {"when": "tomorrow"})
    assert (problem["code"], problem["expected"], problem["alternative"]) == ("format", "date", 0)


def test_any_of_takes_the_branch_with_the_fewest_problems_last():
    schema = {"anyOf": [{"required": ["a", "b"]}, {"required": ["c"]}]}
    problem = the_problem(schema, {})
    assert (problem["pointer"], problem["alternative"]) == ("/c", 1)


def test_nested_alternatives_report_the_innermost_branch_number():
    schema = {
        "anyOf": [
            {"type": "array"},
            {"type": "object", "properties": {"to": {"oneOf": [{"type": "array"}, {"required": ["mail"]}]}}},
        ]
    }
    problem = the_problem(schema, {"to": {}})
    assert (problem["pointer"], problem["code"], problem["alternative"]) == ("/to/mail", "required", 1)


def test_one_of_that_fits_twice_names_the_alternatives():
    problem = the_problem({"oneOf": [{"minimum": 1}, {"type": "string"}, {"maximum": 9}]}, 5)
    assert problem["code"] == "oneOf"
    assert problem["message"] == "The input fits alternatives 0 and 2; only one may fit."


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, [("/b", "dependentRequired")]),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}, [("/b", "required")]),
        ({"not": {"type": "string"}}, "x", [("", "not")]),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, [("/b", "required")]),
        ({"if": {"required": ["a"]}, "else": {"required": ["b"]}}, {}, [("/b", "required")]),
        ({"contains": {"type": "string"}}, [1], [("", "contains")]),
        ({"contains": {"type": "string"}, "minContains": 2}, ["a"], [("", "minContains")]),
        ({"contains": {"type": "string"}, "maxContains": 1}, ["a", "b"], [("", "maxContains")]),
        ({"propertyNames": {"pattern": "^[a-z]+$"}}, {"A": 1, "b": 1}, [("/A", "propertyNames")]),
        ({"minProperties": 1}, {}, [("", "minProperties")]),
        ({"maxProperties": 1}, {"a": 1, "b": 1}, [("", "maxProperties")]),
        ({"prefixItems": [True], "items": False}, [1, 2, 3], [("", "items")]),
        (
            {"prefixItems": [True], "unevaluatedItems": False},
            [1, 2, 3],
            [("/1", "unevaluatedItems"), ("/2", "unevaluatedItems")],
        ),
        ({"prefixItems": [{"type": "string"}]}, [1], [("/0", "type")]),
        ({"patternProperties": {"^n_": {"type": "number"}}}, {"n_a": "x"}, [("/n_a", "type")]),
        ({"additionalProperties": {"type": "number"}}, {"a": "x"}, [("/a", "type")]),
        ({"unevaluatedProperties": {"type": "number"}}, {"a": "x"}, [("/a", "type")]),
        ({"const": 1}, True, [("", "const")]),
        ({"enum": []}, 1, [("", "enum")]),
        ({"exclusiveMinimum": 1}, 1, [("", "exclusiveMinimum")]),
        ({"exclusiveMaximum": 1}, 1, [("", "exclusiveMaximum")]),
        ({"maximum": 1}, 2, [("", "maximum")]),
        ({"minItems": 1}, [], [("", "minItems")]),
        ({"maxLength": 1}, "ab", [("", "maxLength")]),
        ({"format": "email"}, "nobody", [("", "format")]),
        ({"type": ["integer", "null"]}, "x", [("", "type")]),
    ],
)
def test_every_keyword_has_its_code_and_a_sentence(schema, value, expected):
    problems = problems_of(schema, value)
    assert [(problem["pointer"], problem["code"]) for problem in problems] == expected
    for problem in problems:
        assert problem["message"]
        assert "breaks the rule" not in problem["message"]
        dumps(problem)


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"not": {"const": 5}}, 5, "The input fits what is ruled out here: anything but 5."),
        ({"not": {"enum": ["a", "b"]}}, "a", "The input fits what is ruled out here: none of 'a', 'b'."),
        ({"not": {"type": "integer"}}, 5, "The input fits what is ruled out here: anything but an integer."),
        ({"not": {"required": ["a", "b"]}}, {"a": 1, "b": 1},
         "The input fits what is ruled out here: 'a', 'b' may not be given together."),
        ({"not": {"minimum": 1}}, 5, "The input fits what is ruled out here."),
        ({"not": True}, 5, "The input fits what is ruled out here."),
        ({"enum": list(range(12))}, 99, "The input must be one of: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 2 more."),
        ({"enum": [None, True, 0.5, [1], {}]}, 99,
         "The input must be one of: null, true, 0.5, the list in the schema, the object in the schema."),
        ({"const": "x" * 300}, 1, f"The input must be '{'x' * 199}…'."),
        ({"type": ["object", "array", "null"]}, 1, "The input must be an object, an array or null."),
        ({"multipleOf": 0.01}, 0.005, "The input must be a multiple of 0.01."),
        ({"pattern": "^a$"}, "b", "The input must match the pattern ^a$"),
        ({"format": "uri"}, "b", "The input must be a uri, for example https://example.com/."),
        ({"items": False}, [1], "The input may have at most 0 items."),
        ({"prefixItems": [True], "items": False}, [1, 2], "The input may have at most 1 item."),
        ({"propertyNames": {"maxLength": 2}}, {"abc": 1},
         "'abc' is not an allowed name for a member; names have at most 2 characters."),
        ({"propertyNames": {"enum": ["a"]}}, {"abc": 1},
         "'abc' is not an allowed name for a member; names must be one of: 'a'."),
        ({"propertyNames": False}, {"abc": 1}, "'abc' is not an allowed name for a member."),
        ({"dependentRequired": {"card": ["cvc"]}}, {"card": 1}, "'cvc' is required when 'card' is given; add it."),
        ({"properties": {"a": {"items": {"minimum": 3}}}}, {"a": [5, 1]}, "'a.1' must be at least 3."),
        ({"additionalProperties": False}, {"a": 1}, "'a' is not allowed here; remove it."),
        ({"$ref": "#/$defs/no", "$defs": {"no": False}}, 1, "The input may not be given; leave it out."),
    ],
)  # fmt: skip
def test_messages_say_what_would_be_right(schema, value, message):
    assert the_problem(schema, value)["message"] == message


SECRET = "hunter2-hunter2"

SECRET_SCHEMAS = [
    {"type": "integer"},
    {"const": "x"},
    {"enum": ["x", "y"]},
    {"minLength": 99},
    {"maxLength": 2},
    {"pattern": "^x$"},
    {"format": "email"},
    {"not": {"type": "string"}},
    {"not": {"pattern": "hunter"}},
    False,
    {"anyOf": [{"type": "integer"}, {"const": "x"}]},
    {"oneOf": [{"type": "string"}, {"minLength": 1}]},
    {"if": True, "then": False},
]


@pytest.mark.parametrize("schema", SECRET_SCHEMAS)
def test_no_value_of_the_input_is_ever_repeated(schema):
    if isinstance(schema, dict):
        schema = {**schema, "writeOnly": True}
    whole = {
        "properties": {
            "password": schema,
            "list": {"contains": schema, "uniqueItems": True, "items": schema},
        },
        "additionalProperties": schema,
        "minProperties": 9,
    }
    value = {"password": SECRET, "list": [SECRET, SECRET], "more": SECRET}
    for accelerate in (True, False):
        with pytest.raises(InputError) as caught:
            compile_schema(whole, accelerate=accelerate).check(value)
        assert SECRET.encode() not in dumps(caught.value.as_dict())
        assert SECRET not in str(caught.value)
        assert SECRET not in repr(caught.value)


def test_a_huge_member_name_is_not_repeated_a_hundred_times():
    compiled = compile_schema({"additionalProperties": {"additionalProperties": {"type": "string"}}})
    problems, _ = compiled.problems({"n" * 500_000: {f"m{number}": number for number in range(200)}})
    assert len(dumps(problems)) < 100_000
    assert {problem["pointer"] for problem in problems} == {""}


def test_earlier_problems_stand_alone_at_their_pointers():
    compiled = compile_schema(ORDER)
    earlier = [{"pointer": "/quantity", "field": "quantity", "code": "type", "message": "Digits, please."}]
    problems, _ = compiled.problems({"product_id": "", "quantity": "x"}, also=earlier)
    assert [(each["pointer"], each["code"]) for each in problems] == [
        ("/product_id", "minLength"),
        ("/quantity", "type"),
    ]
    assert problems[1] is earlier[0]
    with pytest.raises(InputError):
        compiled.check({"product_id": "a", "quantity": 1}, also=earlier)


def test_a_blank_text_and_a_bad_address_are_one_problem_each_in_words() -> None:
    schema = compile_schema(
        {
            "properties": {
                "title": {"type": "string", "minLength": 1, "pattern": r"\S"},
                "mail": {"type": "string", "format": "email", "pattern": r"^[^@]+@[^@]+\.[a-z]+$"},
                "code": {"type": "string", "minLength": 3, "pattern": "^[a-z]+$"},
            }
        }
    )

    def told(**value: str) -> list[tuple[str, str]]:
        return [(each["code"], each["message"]) for each in schema.problems(value)[0]]

    assert told(title="") == [("minLength", "'title' must have at least 1 character; it has 0.")]
    assert told(title="  ") == [("pattern", "'title' must not be blank.")]
    assert [code for code, _ in told(mail="nowhere")] == ["format"]
    [(code, message)] = told(mail="a@b")
    assert code == "pattern"
    assert "an email address that the site takes" in message
    assert [code for code, _ in told(code="A")] == ["minLength", "pattern"]  # two things to mend


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "objct"}, '"objct" is no type; allowed are object, array'),
        ({"type": "objct"}, "Did you mean 'object'?"),
        ({"properties": {"a": {"type": ["string", "nul"]}}}, "is no type; allowed are object"),
        ({"minLength": "5"}, '"5" is not allowed here; allowed is a value of type integer'),
        ({"properties": {"type": 5}}, "5 is not allowed here; allowed is a value of type object or boolean"),
        ({"minLength": -1}, "-1 is not allowed here: it breaks the 2020-12 meta-schema (rule minimum)"),
    ],
)
def test_a_keyword_that_is_written_wrong_is_named_with_what_is_right(schema: Any, said: str) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema)
    assert said in str(caught.value)
