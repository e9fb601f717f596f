"""The manifest of an OpenAPI document: what becomes of names, inputs and effects, and what is said of the rest."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from agentweb.agent_actions.openapi.importing import Imported, manifest_from
from agentweb.agent_actions.openapi.names import action_name
from agentweb.agent_actions.openapi.report import Level
from agentweb.client.manifest import read_manifest
from tests.agent_actions.openapi.conftest import a_body, a_document, a_parameter, read


def action_of(*operations: tuple[str, str, dict[str, Any]], **members: Any) -> dict[str, Any]:
    found = manifest_from(a_document(*operations, **members))
    assert found.manifest is not None, found.report.findings
    action: dict[str, Any] = found.manifest["actions"][0]
    return action


def said(found: Imported, level: Level = Level.ERROR) -> list[tuple[str, str]]:
    return [(each.where, each.code) for each in found.report.findings if each.level is level]


def errors_of(*operations: tuple[str, str, dict[str, Any]], overlay: Any = None, **members: Any) -> set[str]:
    found = manifest_from(a_document(*operations, **members), overlay)
    assert found.manifest is None
    return {code for _where, code in said(found)}


@pytest.mark.requirement("AA-5.3", "AA-5.4")
def test_a_document_of_3_0_becomes_a_manifest_that_agents_read() -> None:
    found = manifest_from(read("kennel.json"), read("kennel.overlay.json"))
    assert found.manifest is not None
    manifest = read_manifest(found.manifest, site="kennel.example", url="https://kennel.example/")
    assert {
        name: (each.method, each.path, each.effect, each.scope) for name, each in manifest.actions.items()
    } == {
        "list_dogs": ("GET", "/api/v1/dogs", "read", None),
        "add_dog": ("POST", "/api/v1/dogs", "write", "dogs:write"),
        "get_dog": ("GET", "/api/v1/dogs/{id__path}", "read", None),
        "replace_dog": ("PUT", "/api/v1/dogs/{id}", "write", None),
        "strike_off": ("DELETE", "/api/v1/dogs/{id}", "delete", "dogs:delete"),
        "book_walk": ("POST", "/api/v1/dogs/{id__path}/walks", "spend", "walks:book"),
        "add_family": ("POST", "/api/v1/families", "write", None),
    }
    assert manifest.unusable == ()
    assert manifest.flows["adopt_and_walk"].problems == ()
    cost = manifest.actions["book_walk"].cost
    assert cost is not None
    assert (cost.currency, cost.field) == ("USD", "price")


def test_what_gets_lost_and_what_to_look_at_is_said_where_it_is() -> None:
    found = manifest_from(read("kennel.json"), read("kennel.overlay.json"))
    assert said(found, Level.LOSS) == [
        ("HEAD /dogs", "method"),
        ("GET /dogs (listDogs)", "header"),
        ("GET /dogs (listDogs)", "style"),
        ("GET /dogs (listDogs)", "cookie"),
        ("POST /dogs (addDog)", "header"),
    ]
    assert said(found, Level.NOTE) == [
        ("POST /dogs (addDog)", "media_type"),
        ("PUT /dogs/{id} (replaceDog)", "scope"),
        ("PUT /dogs/{id} (replaceDog)", "query"),
        ("POST /families (addFamily)", "optional_body"),
        ("POST /families (addFamily)", "scope"),
    ]


def test_a_document_of_3_1_becomes_one_too() -> None:
    found = manifest_from(read("desk.json"))
    assert found.manifest is not None
    actions = {each["name"]: each for each in found.manifest["actions"]}
    assert list(actions) == ["tickets_read", "post_tickets", "search"]
    assert actions["post_tickets"]["effect"] == "send"
    assert actions["post_tickets"]["description"] == "Open a ticket"
    assert actions["post_tickets"]["request"] == {"body": "body"}
    assert actions["search"]["input"] == {
        "type": "object",
        "properties": {"words": {"type": ["string", "null"]}},
        "additionalProperties": False,
    }
    ticket = actions["tickets_read"]["output"]
    assert "secret" not in ticket["properties"]
    assert ticket["properties"]["parent"]["anyOf"][0] == {"$ref": "#/$defs/Ticket"}


def test_the_same_documents_give_the_same_bytes() -> None:
    first, second = (json.dumps(manifest_from(read("desk.json")).manifest, default=str) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("listPets", "list_pets"), ("getHTTPStatus", "get_http_status"), ("pets.list", "pets_list"),
        ("Add-To Cart", "add_to_cart"), ("v2getX", "v2get_x"), ("2fa", "op_2fa"), ("", ""), ("éß", ""),
    ],
)  # fmt: skip
def test_names_are_snake_case(text: str, name: str) -> None:
    assert action_name(text) == name


def test_an_operation_without_an_id_is_called_by_method_and_path() -> None:
    action = action_of(("get", "/pets/{id}/toys", {"parameters": [a_parameter("id", "path")]}))
    assert action["name"] == "get_pets_id_toys"


def test_two_operations_of_one_name_are_an_error_and_not_numbered() -> None:
    operations = [("get", "/a", {"operationId": "doIt"}), ("get", "/b", {"operationId": "do_it"})]
    found = manifest_from(a_document(*operations))
    assert said(found) == [("GET /b (do_it)", "name")]
    assert "GET /a (doIt)" in found.report.findings[-1].message


def test_parameters_of_the_path_hold_for_every_operation_and_the_operation_s_own_win() -> None:
    document = a_document(
        ("get", "/pets/{id}", {"parameters": [a_parameter("limit", "query", {"type": "integer"})]}),
        ("delete", "/pets/{id}", {}),
    )
    document["paths"]["/pets/{id}"]["parameters"] = [
        a_parameter("id", "path", {"type": "integer"}),
        a_parameter("limit", "query", {"type": "string"}),
    ]
    found = manifest_from(document).manifest
    assert found is not None
    get, delete = (each["input"]["properties"] for each in found["actions"])
    assert get == {"id": {"type": "integer"}, "limit": {"type": "integer"}}
    assert delete == {"id": {"type": "integer"}, "limit": {"type": "string"}}


def test_one_name_in_path_query_and_body_becomes_three_inputs() -> None:
    action = action_of(
        (
            "put",
            "/pets/{id}",
            {
                "parameters": [a_parameter("id", "path"), a_parameter("id", "query")],
                **a_body({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}),
            },
        )
    )
    assert action["path"] == "/pets/{id__path}"
    assert action["input"]["required"] == ["id__path", "id"]
    assert action["input"]["properties"] == {
        "id__path": {"type": "string"},
        "id__query": {"type": "string"},
        "id": {"type": "integer"},
    }
    assert action["request"] == {"query": {"id__query": "id"}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "string"},
        {"oneOf": [{"type": "object"}, {"type": "null"}]},
        {},
    ],
    ids=["array", "text", "branches", "anything"],
)
def test_a_body_that_is_no_object_is_the_member_body(schema: Any) -> None:
    action = action_of(("post", "/a", a_body(schema)))
    assert action["input"] == {
        "type": "object",
        "properties": {"body": schema},
        "required": ["body"],
        "additionalProperties": False,
    }
    assert action["request"] == {"body": "body"}


def test_an_object_that_is_more_than_its_members_stands_whole_or_as_body() -> None:
    odd = {"type": "object", "properties": {"a": {"type": "string"}}, "minProperties": 1}
    alone = action_of(("post", "/a", a_body(odd)))
    assert (alone["input"], "request" in alone) == (odd, False)
    beside = action_of(("post", "/a/{b}", {"parameters": [a_parameter("b", "path")], **a_body(odd)}))
    assert beside["input"]["properties"]["body"] == odd


@pytest.mark.parametrize(
    "media_type", ["application/json; charset=utf-8", "application/problem+json", "APPLICATION/JSON"]
)
def test_json_by_any_of_its_names_is_a_body(media_type: str) -> None:
    action = action_of(("post", "/a", a_body({"type": "object", "properties": {"a": {}}}, media_type)))
    assert action["input"]["properties"] == {"a": {}}


def test_a_body_that_is_no_json_is_an_error_where_it_is_required() -> None:
    form = a_body({"type": "object"}, "multipart/form-data")
    assert errors_of(("post", "/a", form)) == {"media_type"}
    optional = a_body({"type": "object"}, "multipart/form-data", required=False)
    assert action_of(("post", "/a", optional))["input"]["properties"] == {}


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}], "nullable": True},
            {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        ),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            {"type": "integer", "exclusiveMinimum": 1},
        ),
        ({"type": "integer", "maximum": 9, "exclusiveMaximum": False}, {"type": "integer", "maximum": 9}),
        ({"type": "string", "example": "x"}, {"type": "string", "examples": ["x"]}),
        ({"type": "integer", "format": "int64"}, {"type": "integer"}),
        ({"type": "string", "x-vendor": 1, "externalDocs": {}}, {"type": "string"}),
    ],
    ids=["nullable", "enum", "anyOf", "exclusive", "inclusive", "example", "format", "vendor"],
)
def test_schemas_of_3_0_become_2020_12(given: Any, becomes: Any) -> None:
    action = action_of(
        ("post", "/a", a_body({"type": "object", "properties": {"a": given}})), version="3.0.3"
    )
    assert action["input"]["properties"]["a"] == becomes


def test_members_that_are_only_read_are_not_asked_for() -> None:
    schema = {
        "type": "object",
        "required": ["id", "name"],
        "properties": {"id": {"type": "integer", "readOnly": True}, "name": {"type": "string"}},
    }
    action = action_of(("post", "/a", a_body(schema)))
    assert action["input"]["required"] == ["name"]
    assert list(action["input"]["properties"]) == ["name"]


def test_recursion_is_kept_and_the_rest_is_written_in_place() -> None:
    components = {
        "schemas": {
            "Node": {
                "type": "object",
                "properties": {
                    "label": {"$ref": "#/components/schemas/Label"},
                    "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
                },
            },
            "Label": {"type": "string", "maxLength": 9},
        }
    }
    action = action_of(("post", "/a", a_body({"$ref": "#/components/schemas/Node"})), components=components)
    assert action["input"]["properties"]["label"] == {"type": "string", "maxLength": 9}
    assert action["input"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert list(action["input"]["$defs"]) == ["Node"]


def test_references_to_anywhere_in_the_document_are_followed() -> None:
    document = a_document(
        ("post", "/a", a_body({"type": "object", "properties": {"enum": {"$ref": "#/x-shapes/one~1two"}}})),
        **{"x-shapes": {"one/two": {"type": "boolean"}}},
    )
    document["paths"]["/b"] = {"$ref": "#/paths/~1a"}
    document["components"] = {"requestBodies": {"B": a_body({"type": "object"})["requestBody"]}}
    document["paths"]["/c"] = {
        "post": {"operationId": "c", "requestBody": {"$ref": "#/components/requestBodies/B"}, "responses": {}}
    }
    found = manifest_from(document).manifest
    assert found is not None
    assert [each["name"] for each in found["actions"]] == ["post_a", "post_b", "c"]
    assert found["actions"][1]["input"]["properties"]["enum"] == {"type": "boolean"}


@pytest.mark.parametrize(
    "reference",
    [
        "http://127.0.0.1:{port}/x.json",
        "other.json#/Pet",
        "#/components/schemas/Nobody",
        "#nobody",
        "file:///etc/passwd",
    ],
)
def test_references_out_of_the_document_are_errors_and_nothing_is_fetched(reference: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        schema = {"$ref": reference.format(port=listener.getsockname()[1])}
        assert errors_of(("post", "/a", a_body(schema))) == {"reference"}
        with pytest.raises(TimeoutError):
            listener.accept()


def test_a_circle_of_references_is_an_error() -> None:
    document = a_document(("get", "/a", {"parameters": [{"$ref": "#/components/parameters/A"}]}))
    document["components"] = {"parameters": {"A": {"$ref": "#/components/parameters/A"}}}
    assert said(manifest_from(document)) == [("GET /a", "reference")]


def test_spending_and_sending_are_never_guessed_and_words_that_sound_like_it_are_told() -> None:
    operations = [
        ("post", "/checkout", {"operationId": "checkout"}),
        (
            "post",
            "/teams/{id}/invites",
            {"operationId": "inviteToTeam", "parameters": [a_parameter("id", "path")]},
        ),
        ("post", "/notes", {"operationId": "addNote"}),
        ("get", "/messages", {"operationId": "messages"}),
    ]
    found = manifest_from(a_document(*operations))
    assert found.manifest is not None
    assert [each["effect"] for each in found.manifest["actions"]] == ["write", "write", "write", "read"]
    told = [
        (each.where, each.message.partition("?")[0])
        for each in found.report.findings
        if each.code == "effect"
    ]
    assert told == [
        ("POST /checkout (checkout)", "checkout: does it spend"),
        ("POST /teams/{id}/invites (inviteToTeam)", "invite, invites: does it send"),
    ]
    quiet = manifest_from(a_document(*operations), {"operations": {"checkout": {"effect": "write"}}})
    assert [each.where for each in quiet.report.findings if each.code == "effect"] == [told[1][0]]


@pytest.mark.parametrize(("method", "is_told"), [("delete", True), ("post", True), ("get", False)])
def test_an_effect_without_a_scope_is_to_be_looked_at(method: str, is_told: bool) -> None:
    document = a_document((method, "/orders", {"operationId": "orders"}))
    told = [each.message for each in manifest_from(document).report.findings if each.code == "scope"]
    assert [
        f"effect {'delete' if method == 'delete' else 'write'} and no scope" in each for each in told
    ] == [True] * is_told
    scoped = manifest_from(document, {"operations": {"orders": {"scope": "orders:write"}}})
    assert "scope" not in {each.code for each in scoped.report.findings}


@pytest.mark.parametrize(
    ("method", "words", "codes"),
    [
        ("post", {"effect": "destroy"}, {"effect"}),
        ("get", {"effect": "spend"}, {"effect"}),
        ("post", {"scope": "*"}, {"scope", "manifest"}),
        ("post", {"cost": {"field": "price", "currency": "USD"}}, {"cost"}),
        ("post", {"cost": {"amount": 5, "currency": "XXY"}}, {"cost", "manifest"}),
        ("post", {"efect": "spend"}, {"overlay"}),
    ],
    ids=["effect", "get-spends", "scope", "cost-field", "currency", "slip"],
)
def test_what_does_not_hold_is_an_error_and_nothing_is_made(method: str, words: Any, codes: set[str]) -> None:
    assert errors_of((method, "/a", {"operationId": "a"}), overlay={"operations": {"a": words}}) == codes


def test_an_overlay_that_speaks_of_no_operation_names_the_nearest() -> None:
    found = manifest_from(
        a_document(("get", "/a", {"operationId": "listPets"})), {"operations": {"listPet": {}}}
    )
    assert "Did you mean 'listPets'?" in found.report.findings[0].message


def test_a_flow_that_cannot_run_is_an_error() -> None:
    flow = {"name": "go", "steps": [{"action": "nowhere", "with": {}}]}
    assert errors_of(("get", "/a", {"operationId": "a"}), overlay={"flows": [flow]}) == {"flow"}


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"swagger": "2.0"},
        {"openapi": "4.0.0"},
        {"openapi": 3.1},
        {"openapi": "3.1.0", "paths": []},
    ],
    ids=["null", "list", "empty", "swagger", "four", "number", "paths"],
)
def test_what_is_no_document_of_openapi_3_is_refused(document: Any) -> None:
    assert manifest_from(document).manifest is None


def test_patterns_that_agents_would_refuse_are_errors() -> None:
    slow = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    assert "input" in errors_of(("post", "/a", a_body(slow)))


@pytest.mark.parametrize(
    ("servers", "site", "path"),
    [
        ([{"url": "https://API.example:443/v1/"}], "api.example", "/v1/a"),
        ([{"url": "/v2"}], "named.example", "/v2/a"),
        ([], "named.example", "/a"),
        ([{"url": "https://{host}/x", "variables": {"host": {"default": "b.example"}}}], "b.example", "/x/a"),
    ],
)
def test_the_first_server_says_the_site_and_what_stands_before_each_path(
    servers: Any, site: str, path: str
) -> None:
    document = {**a_document(("get", "/a", {})), "servers": servers}
    named = None if site != "named.example" else site
    found = manifest_from(document, site=named).manifest
    assert found is not None
    assert (found["site"], found["actions"][0]["path"]) == (site, path)


def test_without_a_server_the_site_has_to_be_named() -> None:
    assert errors_of(("get", "/a", {}), servers=[]) == {"site"}


@pytest.mark.parametrize(
    "member",
    [
        {"x-agent-effect": ["read"]},
        {"x-agent-input": {}, "x-agent-request": 5},
        {"x-agent-input": {}, "x-agent-request": {"query": ["a"]}},
        {"summary": "Fine.", "x-agent-title": 5},
        {"x-agent-cost": {"currency": "USD", "amount": -1}},
        {"x-agent-cost": 5},
        a_body({"type": "object", "properties": []}),
        a_body({"type": "object", "properties": {}, "required": 5, "$defs": []}),
        a_body({"allOf": [True], "type": 5, "nullable": True}),
        a_body({"enum": 5, "nullable": True}),
        a_body({"format": []}),
        {"parameters": [a_parameter("a", "query", {"type": "string"}, style=["form"]), {"name": 5}]},
    ],
    ids=lambda member: next(iter(member)),
)
def test_members_of_a_kind_that_they_cannot_have_are_errors_that_name_the_operation(member: Any) -> None:
    found = manifest_from(a_document(("post", "/a", {"operationId": "a", **member})))
    assert found.manifest is None
    assert {where for where, _code in said(found)} <= {"POST /a (a)", "/actions/0/cost"}


@pytest.mark.parametrize("url", ["http://[", "https://a b/", "{x}", ""])
def test_a_server_that_is_no_address_is_said(url: str) -> None:
    found = manifest_from(a_document(("get", "/a", {}), servers=[{"url": url}]))
    assert ("", "site") in said(found)


@pytest.mark.parametrize(
    "site", ["a b", "https://shop.example", "Shop.example", "shop.example/x", "a@b.example"]
)
def test_a_site_that_is_no_host_is_refused(site: str) -> None:
    found = manifest_from(a_document(("get", "/a", {})), site=site)
    assert found.manifest is None
    assert said(found) == [("", "site")]


def test_a_long_chain_of_schemas_is_refused_and_a_long_answer_left_out() -> None:
    chain: dict[str, Any] = {
        f"S{n}": {"properties": {"next": {"$ref": f"#/components/schemas/S{n + 1}"}}} for n in range(3_000)
    }
    components = {"schemas": {**chain, "S3000": {"type": "string"}}}
    first = {"$ref": "#/components/schemas/S0"}
    assert errors_of(("post", "/a", a_body(first)), components=components) == {"reference"}
    answer = {"200": {"description": "Done.", "content": {"application/json": {"schema": first}}}}
    found = manifest_from(a_document(("get", "/a", {"responses": answer}), components=components))
    assert found.manifest is not None
    assert said(found, Level.LOSS) == [("GET /a", "output")]


@pytest.mark.parametrize(
    "component",
    [
        pytest.param(None, id="null"),
        pytest.param({"allOf": {"$ref": "#/components/schemas/Pet"}}, id="allOf-that-is-no-list"),
        pytest.param({"$ref": 5}, id="a-reference-that-is-a-number"),
        pytest.param({"enum": [{"$ref": "#/components/schemas/Gone"}]}, id="a-reference-as-a-value"),
    ],
)
def test_a_component_that_no_schema_can_be_is_an_error_that_names_the_operation(component: Any) -> None:
    operation = {"operationId": "addPet", **a_body({"$ref": "#/components/schemas/Pet"})}
    found = manifest_from(
        a_document(("post", "/pets", operation), components={"schemas": {"Pet": component}})
    )
    assert said(found) == [("POST /pets (addPet)", "reference")]


@pytest.mark.parametrize("tags", [[[]], [5, None], []], ids=["lists", "no-texts", "none"])
def test_tags_that_are_no_texts_leave_no_empty_list(tags: list[Any]) -> None:
    assert "tags" not in action_of(("get", "/pets", {"operationId": "listPets", "tags": tags}))
