"""What a schema may be, what a value may cost, and that nothing is ever fetched."""

import threading
import time
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from agentweb.wire import schema as schemas
from agentweb.wire.schema import NO_EXAMPLE, SchemaError, compile_schema, loading
from agentweb.wire.schema.equality import are_equal, first_duplicate


@pytest.fixture
def trap():
    """A loopback server that remembers every request."""
    hits = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            hits.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "integer"}')

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/schema.json", hits
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("foreign", [False, True])
def test_a_remote_reference_is_refused_and_nothing_is_requested(trap, foreign):
    url, hits = trap
    for schema in (
        {"$ref": url},
        {"$dynamicRef": url},
        {"properties": {"a": {"items": {"$ref": f"{url}#/definitions/a"}}}},
        {"$id": url, "$ref": "other.json"},
        {"$schema": url},
        {"allOf": [{"$schema": url}]},
        {"$schema": url, "$vocabulary": {url: True}},
    ):
        with pytest.raises(SchemaError):
            compile_schema(schema, foreign=foreign)
    with_id = compile_schema(
        {"$id": url, "$defs": {"a": {"$id": f"{url}/a", "items": {"$ref": "#"}}}, "type": "array"}
    )
    assert with_id.is_valid([])
    assert not with_id.is_valid({})
    assert hits == []


@pytest.mark.parametrize(
    "reference",
    [
        "file:///etc/passwd",
        "/etc/passwd",
        "other.json",
        "urn:x",
        "https://json-schema.org/draft/2020-12/schema",
        "",
    ],
)
def test_only_references_inside_the_schema_are_followed(reference):
    with pytest.raises(SchemaError) as caught:
        compile_schema({"properties": {"a": {"$ref": reference}}})
    assert caught.value.problems[0]["pointer"] == "/properties/a/$ref"


@pytest.mark.parametrize(
    "reference",
    ["#/$defs/none", "#none", "#/properties", "#/required", "#/properties/a/default", "#/$defs/a/0", "#/%ZZ"],
)
def test_a_reference_to_nothing_or_to_no_schema_is_refused(reference):
    schema = {
        "properties": {"a": {"default": {"type": "string"}}, "b": {"$ref": reference}},
        "required": ["a"],
        "$defs": {"a": {"enum": [1]}},
    }
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema)
    assert caught.value.problems[0]["pointer"] == "/properties/b/$ref"


def test_local_references_and_anchors_work():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {
            "name": {"type": "string"},
            "odd/na~me": {"type": "integer"},
            "anchored": {"$anchor": "here", "type": "boolean"},
            "yes": True,
        },
        "properties": {
            "a": {"$ref": "#/$defs/name"},
            "b": {"$ref": "#/$defs/odd~1na~0me"},
            "c": {"$ref": "#here"},
            "d": {"$ref": "#"},
            "e": {"$ref": "#/$defs/yes"},
        },
    }
    compiled = compile_schema(schema)
    assert compiled.is_valid({"a": "x", "b": 1, "c": True, "d": {"a": "x"}, "e": 5})
    problems, _ = compiled.problems({"a": 1, "b": "x", "c": 1, "d": {"d": {"a": 1}}})
    assert [problem["pointer"] for problem in problems] == ["/a", "/b", "/c", "/d/d/a"]


def test_a_nested_dialect_does_not_switch_the_guards_off():
    dialect = "https://json-schema.org/draft/2020-12/schema"
    schema = {
        "$schema": dialect,
        "properties": {"a": {"$schema": dialect, "format": "date", "pattern": "^a$"}},
    }
    for accelerate in (True, False):
        problems, _ = compile_schema(schema, accelerate=accelerate).problems({"a": "a\n"})
        assert [problem["code"] for problem in problems] == ["format", "pattern"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"},
        {"$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"not": {"$ref": "#"}},
        {"if": {"$ref": "#"}},
        {"dependentSchemas": {"a": {"$ref": "#"}}},
        {"$dynamicAnchor": "x", "oneOf": [{"$dynamicRef": "#x"}]},
    ],
)
def test_a_reference_that_goes_in_a_circle_without_consuming_input_is_refused(schema):
    for foreign in (False, True):
        with pytest.raises(SchemaError) as caught:
            compile_schema(schema, foreign=foreign)
        assert caught.value.problems[0]["code"] == "$ref"


def test_recursion_that_consumes_input_is_fine():
    tree = {"type": "object", "properties": {"child": {"$ref": "#"}}, "additionalProperties": False}
    for foreign in (False, True):
        compiled = compile_schema(tree, foreign=foreign)
        assert compiled.is_valid({"child": {"child": {}}})
        assert compiled.problems({"child": {"child": {"x": 1}}})[0][0]["pointer"] == "/child/child/x"


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "text"}, "/type"),
        ({"properties": {"a": {"minLength": -1}}}, "/properties/a/minLength"),
        ({"required": "a"}, "/required"),
        ({"properties": {"a": {"exclusiveMinimum": True}}}, "/properties/a/exclusiveMinimum"),
        ({"items": [{"type": "string"}]}, "/items"),
        ({"multipleOf": 0}, "/multipleOf"),
        ({"properties": {"a": 5}}, "/properties/a"),
        ({"dependencies": {"a": ["b"]}}, "/dependencies"),
        ({"properties": {"a": {"default": object()}}}, "/properties/a/default"),
        ({"properties": {5: {}}}, "/properties"),
        ("string", ""),
        (None, ""),
    ],
)
def test_a_broken_schema_is_refused_with_a_pointer_into_it(schema, pointer):
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema)
    assert caught.value.problems[0]["pointer"] == pointer


def test_every_problem_of_a_schema_is_listed():
    with pytest.raises(SchemaError) as caught:
        compile_schema({"properties": {"a": {"type": "x"}, "b": {"minLength": "y"}}})
    assert [problem["pointer"] for problem in caught.value.problems] == [
        "/properties/a/type",
        "/properties/b/minLength",
    ]
    assert "(1 more)" in str(caught.value)


def nested(levels, value=1):
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("accelerate", [True, False])
@pytest.mark.parametrize("schema", [True, {"items": {"$ref": "#"}}, {"type": "array"}])
def test_a_value_nested_deeper_than_64_is_one_problem(schema, accelerate):
    compiled = compile_schema(schema, accelerate=accelerate)
    assert compiled.is_valid(nested(64))
    for levels in (65, 3_000):
        [problem], truncated = compiled.problems(nested(levels))
        assert (problem["code"], problem["pointer"], truncated) == ("too_deep", "/0" * 64, False)


def test_a_value_that_contains_itself_is_too_deep():
    value = {}
    value["self"] = value
    [problem], _ = compile_schema(True).problems(value)
    assert problem["code"] == "too_deep"


def test_a_value_with_more_than_100_000_nodes_is_one_problem():
    compiled = compile_schema({"type": "array"})
    assert compiled.is_valid([0] * 99_998)
    [problem], _ = compiled.problems([0] * 100_001)
    assert (problem["code"], problem["pointer"]) == ("too_large", "")


@pytest.mark.parametrize("wrap", [int, Decimal, lambda number: [number], lambda number: {"n": number}])
def test_numbers_whose_hashes_are_all_the_same_are_compared_at_once(wrap):
    bomb = [wrap((2**61 - 1) * factor) for factor in range(1, 40_000)]
    compiled = compile_schema({"uniqueItems": True})
    started = time.process_time()
    assert compiled.is_valid(bomb)
    assert time.process_time() - started < 5
    assert len(compiled.problems([*bomb, bomb[0]])[0]) == 1


def test_comparing_items_counts_as_work(short_limits):
    class Items(list):  # of another class than JSON's, so that only the validator looks at it
        pass

    items = Items([str(number) * 50] for number in range(30_000))
    [problem], _ = compile_schema({"allOf": [{"uniqueItems": True}] * 50}).problems(items)
    assert problem["code"] == "too_complex"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (1, Decimal("1.00"), True),
        (0, Decimal("-0.0"), True),
        (100, Decimal("1E2"), True),
        (0.1, Decimal("0.10"), True),
        (10**18 + 1, Decimal(10**18 + 1), True),
        (10**400, Decimal("1E400"), True),
        (10**30 + 1, Decimal("1E30"), False),
        (Decimal("0.1"), Decimal("0.1" + "0" * 60 + "1"), False),
        (1, True, False),
        (0, False, False),
        (1, "1", False),
        (0, None, False),
    ],
)
def test_numbers_are_equal_by_value_and_to_nothing_else(one, other, equal):
    assert are_equal(one, other) is equal
    assert are_equal([{"a": other}], [{"a": one}]) is equal
    assert first_duplicate([one, other]) == ((0, 1) if equal else None)


def test_three_thousand_objects_are_compared_at_once():
    compiled = compile_schema({"uniqueItems": True})
    values = [{"id": number, "tags": [number, {"a": number / 2}]} for number in range(3_000)]
    started = time.thread_time()
    assert compiled.is_valid(values)
    [problem], _ = compiled.problems([*values, {"tags": [7, {"a": 3.5}], "id": 7.0}])
    assert time.thread_time() - started < 5
    assert problem["message"] == "The input must have items that differ; item 3000 repeats item 7."


@pytest.fixture
def short_limits(monkeypatch):
    """Two seconds are for the site; the tests show as much in a tenth."""
    monkeypatch.setattr("agentweb.wire.schema.OWN_SECONDS", 0.2)
    monkeypatch.setattr("agentweb.wire.schema.FOREIGN_SECONDS", 0.1)


def doubling(levels, keyword):
    definitions = {
        f"n{level}": {keyword: [{"$ref": f"#/$defs/n{level + 1}"}, {"$ref": f"#/$defs/n{level + 1}"}]}
        for level in range(levels)
    }
    return {"$defs": {**definitions, f"n{levels}": {"type": "string"}}, "$ref": "#/$defs/n0"}


@pytest.mark.parametrize("foreign", [False, True])
@pytest.mark.parametrize(("keyword", "value"), [("allOf", "x"), ("anyOf", 5), ("oneOf", "x")])
def test_a_schema_that_doubles_the_work_at_each_level_is_stopped(keyword, value, foreign, short_limits):
    compiled = compile_schema(doubling(30, keyword), foreign=foreign)
    started = time.thread_time()
    [problem], _ = compiled.problems(value)
    assert problem["code"] == "too_complex"
    assert time.thread_time() - started < 5


def test_looking_for_an_example_or_reading_a_query_string_is_bounded_too(short_limits):
    compiled = compile_schema(doubling(30, "oneOf"))
    started = time.thread_time()
    assert compiled.example() is NO_EXAMPLE
    assert compiled.coerce_strings([("a", "1")]) == ({"a": "1"}, [])
    assert time.thread_time() - started < 5


def test_branches_that_double_with_each_level_of_the_value_are_stopped(short_limits):
    branch = {"properties": {"x": {"anyOf": [{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}]}}}
    schema = {
        "$defs": {
            "one": {"type": "object", **branch},
            "two": {"required": ["q"], "type": "object", **branch},
        },
        "$ref": "#/$defs/one",
    }
    value = 5
    for _ in range(60):
        value = {"x": value}
    started = time.thread_time()
    [problem], _ = compile_schema(schema).problems(value)
    assert problem["code"] == "too_complex"
    assert time.thread_time() - started < 5


def test_a_long_chain_of_references_is_an_answer_and_not_a_crash():
    chain = {f"n{number}": {"$ref": f"#/$defs/n{number + 1}"} for number in range(1_200)}
    schema = {"$defs": {**chain, "n1200": {"type": "string"}}, "$ref": "#/$defs/n0"}
    for foreign in (False, True):
        with pytest.raises(SchemaError) as caught:
            compile_schema(schema, foreign=foreign)
        assert caught.value.problems[0]["code"] == "too_deep"


def test_references_too_deep_for_the_stack_are_too_complex_and_not_a_crash():
    chain = {f"n{number}": {"$ref": f"#/$defs/n{number + 1}"} for number in range(290)}
    schema = {
        "$defs": {**chain, "n290": {"type": "string"}, "m": {"$ref": "#/$defs/n0"}},
        "$ref": "#/$defs/m",
        "items": {"$ref": "#"},
        "unevaluatedItems": False,
    }
    value = nested(60, "x")
    assert compile_schema(schema).problems(value)[0][0]["code"] in {"too_complex", "type"}


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        ({"$defs": {f"n{number}": {} for number in range(6_000)}}, "too_large"),
        ({"description": "x" * 100_001}, "too_large"),
        ({"properties": {"n" * 100_001: {}}}, "too_large"),
        ({"default": nested(50)}, "too_deep"),
        ({"enum": list(range(6_000))}, "too_large"),
    ],
)
def test_a_foreign_schema_has_limits_on_size_and_depth(schema, code):
    assert compile_schema(schema)
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema, foreign=True)
    assert caught.value.problems[0]["code"] == code


def test_an_endless_schema_is_refused():
    schema = {}
    schema["items"] = schema
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema)
    assert caught.value.problems[0]["code"] == "too_deep"


def test_equal_schemas_are_compiled_once_and_stay_as_they_were_given():
    schema = {
        "properties": {"a": {"enum": [1, 2.5]}},
        "$schema": "https://json-schema.org/draft/2020-12/schema",
    }
    compiled = compile_schema(schema)
    assert compile_schema({**schema}) is compiled
    assert compile_schema(schema, foreign=True) is not compiled
    schema["properties"]["a"]["enum"].append("later")
    assert schema["$schema"]
    assert not compiled.is_valid({"a": "later"})
    assert compile_schema(schema).is_valid({"a": "later"})
    assert compile_schema({"const": True}) is not compile_schema({"const": 1})


def test_many_threads_share_one_compiled_schema():
    compiled = compile_schema(
        {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"not": {"pattern": "^(a|b)*c+$"}}}}
    )
    answers = []

    def ask():
        answers.extend(compiled.is_valid(["x", "y"]) and not compiled.is_valid(["abc"]) for _ in range(50))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 400


def test_patterns_of_another_site_that_take_too_long_to_be_read_are_refused(monkeypatch):
    monkeypatch.setattr(loading, "FOREIGN_SECONDS", -1)
    schema = {"properties": {"slow": {"pattern": "^to-be-read-in-no-time$"}}}
    with pytest.raises(SchemaError) as refused:
        compile_schema(schema, foreign=True)
    assert [each["code"] for each in refused.value.problems] == ["too_complex"]
    compile_schema(schema)


def test_schemas_are_kept_up_to_a_size_in_all(monkeypatch):
    monkeypatch.setattr(schemas, "_cache", type(schemas._cache)())
    monkeypatch.setattr(schemas, "_CACHE_CHARACTERS", 5_000)
    made = [compile_schema({"description": f"{n}" * 2_000}, foreign=True) for n in range(4)]
    assert len(schemas._cache) == 2
    assert compile_schema({"description": "3" * 2_000}, foreign=True) is made[3]
    huge = compile_schema({"description": "x" * 9_000})
    assert compile_schema({"description": "x" * 9_000}) is huge
    assert len(schemas._cache) == 1
