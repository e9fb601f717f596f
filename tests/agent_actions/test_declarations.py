"""One declaration makes an entry of the manifest and the call that the entry describes; seen over HTTP alone."""

import json

import pytest
from django.http import HttpResponse
from django.shortcuts import render
from django.test import Client, override_settings
from django.urls import include, path, re_path
from jsonschema import Draft202012Validator

from agentweb import action, flow
from agentweb.agent_actions import published
from agentweb.catalog.registry import registry
from agentweb.testing import TestAgent
from tests.support.entries import MANIFEST, carry_out, entry_of, manifest
from tests.support.web import send

EFFECTS = ["read", "write", "send", "spend", "delete"]
EMPTY = {"type": "object", "additionalProperties": False}
ITEM = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer", "minimum": 1}, "note": {"type": "string"}},
    "additionalProperties": False,
}
CART = {
    "type": "object",
    "required": ["product_id", "quantity"],
    "properties": {
        "product_id": {"type": "string"},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 20},
    },
}
TEXT = {"type": "string"}


@pytest.fixture
def ran(catalog):
    """(name, input) of every function that ran."""
    return []


def declare(ran, name, **words):
    def function(inp, ctx):
        ran.append((name, inp))
        return {"by": name}

    action(name, **{"description": "Words.", "input": EMPTY, **words})(function)


def everything(ran):
    """One action for each effect and each way that an input travels."""
    declare(ran, "search", input=ITEM)
    declare(ran, "look", input=ITEM, path="/things/{id}")
    declare(ran, "look_at_all", path="/things")
    declare(ran, "count", input={**ITEM, "properties": {**ITEM["properties"], "more": {"type": "object"}}})
    declare(ran, "change", input=ITEM, path="/things/{id}", effect="write", method="PATCH", scope="things")
    declare(ran, "replace", input=ITEM, path="/things/{id}", effect="write", method="PUT", scope="things")
    declare(ran, "remove", input=ITEM, path="/things/{id}", effect="delete", method="DELETE", scope="things")
    declare(ran, "remove_all", input=ITEM, effect="delete", scope="things")
    declare(ran, "tell", input=ITEM, effect="send", scope="things:tell")
    declare(
        ran,
        "pay",
        input=ITEM,
        effect="spend",
        scope="things:pay",
        path="/things/pay",
        cost={"amount": 1, "currency": "USD"},
    )
    assert [fault for fault in registry.faults() if fault.is_error] == []


@pytest.mark.requirement("AA-1.2", "AA-2.7", "AA-6.10")
def test_every_entry_is_one_request_that_runs_its_function_and_no_other(ran):
    everything(ran)
    entries = manifest()["actions"]
    assert len(entries) == 10
    for entry in entries:
        value = {"id": 7, "note": "a b"} if entry["input"].get("properties") else {}
        # A client of its own each time, that was never at the site before and passes no test against forged forms.
        agent = TestAgent(scopes=["*"], spending="USD:5.00/5.00", client=Client(enforce_csrf_checks=True))
        answer = carry_out(agent, entry, value)
        assert (answer.status_code, json.loads(answer.content)) == (200, {"by": entry["name"]}), entry
        assert ran == [(entry["name"], value)]
        assert not answer.cookies
        ran.clear()


@pytest.mark.requirement("AA-6.10")
@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/things/7"),
        ("GET", "/things/7/8"),
        ("DELETE", "/things"),
        ("GET", "/agent/tell"),
        ("PUT", "/"),
    ],
)
def test_where_the_manifest_lists_nothing_no_function_runs(ran, method, target):
    everything(ran)
    agent = TestAgent(scopes=["*"], spending="USD:5.00/5.00")
    assert agent.request(method, target, b"{}" if method == "POST" else None).status_code in {404, 405}
    assert ran == []


def front_page(request):
    return render(request, "front.html")


def new_page(request, **captured):
    return HttpResponse("moved")


class Today:
    urlpatterns = (
        path("", front_page),
        path("cart/", front_page),
        path("shop/<int:pk>/", new_page),
        path("", include("agentweb.urls")),
    )


class Redesigned:
    """The same site: its pages have other addresses, and a front-end takes every other one."""

    urlpatterns = (
        path("v2/basket/", front_page),
        path("", include("agentweb.urls")),
        re_path(r"^(?P<page>.*)$", new_page),
    )


def templates(front):
    loaders = [("django.template.loaders.locmem.Loader", {"front.html": front})]
    return [{"BACKEND": "django.template.backends.django.DjangoTemplates", "OPTIONS": {"loaders": loaders}}]


@pytest.mark.requirement("AA-1.3")
def test_a_redesign_of_the_pages_changes_neither_the_manifest_nor_a_call(shop):
    seen = []
    for urls, front in (Today, "<form action='/cart/'>"), (Redesigned, "<div id='app'></div>"):
        published.forget()
        with override_settings(ROOT_URLCONF=urls, TEMPLATES=templates(front)):
            page = Client().get("/cart/").content
            agent = TestAgent(scopes=["cart:write"])
            call = agent.request("POST", "/agent/add_to_cart", {"product_id": "tea", "quantity": 2})
            assert call.status_code == 200
            seen.append((page, send("GET", MANIFEST).content, call.content))
    assert seen[0][0] != seen[1][0]
    assert seen[0][1:] == seen[1][1:]


@pytest.mark.requirement("AA-2.1", "AA-2.2", "AA-2.3")
def test_the_manifest_names_its_version_its_site_and_how_calls_are_authorised(ran):
    document = json.loads(send("GET", MANIFEST, Host="another.example").content)
    assert document["version"] == "agent-actions/0.1"
    assert document["site"] == "shop.example"
    assert document["auth"]["type"] == "agent-grant"


@pytest.mark.requirement("AA-2.4", "AA-2.5")
def test_every_published_action_has_one_entry_and_a_hidden_one_has_none(ran):
    everything(ran)
    declare(ran, "for_staff", visible=lambda user: user.is_staff)
    declare(ran, "faulty", rate=5)
    assert registry.get("for_staff") is not None
    names = [entry["name"] for entry in manifest()["actions"]]
    assert sorted(names) == [
        "change",
        "count",
        "look",
        "look_at_all",
        "pay",
        "remove",
        "remove_all",
        "replace",
        "search",
        "tell",
    ]


@pytest.mark.requirement("AA-2.5")
def test_a_name_declared_a_second_time_is_refused_and_the_first_keeps_it(ran):
    declare(ran, "look", path="/first")
    declare(ran, "look", path="/second")
    [fault] = registry.faults()
    assert (fault.id, fault.dangerous) == ("agentweb.E010", True)
    assert entry_of("look")["path"] == "/first"
    assert (send("GET", "/first").status_code, send("GET", "/second").status_code) == (200, 404)


@pytest.mark.requirement("AA-2.6", "AA-2.8", "AA-2.9")
@pytest.mark.parametrize("effect", EFFECTS)
def test_an_entry_says_in_words_what_an_action_does_its_effect_and_its_scope(ran, effect):
    declare(ran, "act", description="Do the thing.", effect=effect, scope="things:do")
    entry = entry_of("act")
    assert (entry["description"], entry["effect"], entry["scope"]) == ("Do the thing.", effect, "things:do")
    # The entry means it: the very scope opens the action, another does not.
    agent, other = (
        TestAgent(scopes=[scope], spending="USD:1.00/1.00") for scope in (entry["scope"], "things:other")
    )
    assert carry_out(agent, entry, {}).status_code == 200
    assert carry_out(other, entry, {}).status_code == 403


@pytest.mark.requirement("AA-2.6")
def test_the_words_of_an_entry_may_be_the_functions_own_and_are_never_missing(ran):
    @action(input=EMPTY)
    def look(inp, ctx):
        """Look at the thing."""

    @action(input=EMPTY)
    def silent(inp, ctx): ...

    assert [(entry["name"], entry["description"]) for entry in manifest()["actions"]] == [
        ("look", "Look at the thing.")
    ]


@pytest.mark.requirement("AA-2.8")
@pytest.mark.parametrize("effect", ["buy", "", "READ", None])
def test_another_word_for_an_effect_is_refused_and_not_listed(ran, effect):
    declare(ran, "act", effect=effect)
    [fault] = registry.faults()
    assert (fault.id, fault.dangerous) == ("agentweb.E014", True)
    assert manifest()["actions"] == []


@pytest.mark.requirement("AA-2.9")
@pytest.mark.parametrize("effect", EFFECTS)
def test_an_action_without_a_scope_has_no_scope_member(ran, effect):
    declare(ran, "act", effect=effect)
    assert "scope" not in entry_of("act")


@pytest.mark.requirement("AA-2.10")
def test_the_input_of_every_entry_is_a_schema_of_draft_2020_12(shop):
    entries = manifest()["actions"]
    assert len(entries) > 10
    for entry in entries:
        Draft202012Validator.check_schema(entry["input"])
        assert (
            entry["input"].get("$schema", Draft202012Validator.META_SCHEMA["$id"])
            == (Draft202012Validator.META_SCHEMA["$id"])
        )


@pytest.mark.requirement("AA-2.10")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nothing"},
        {"type": "object", "properties": {"a": {"minimum": "1"}}},
        {"type": "object", "required": "a"},
    ],
)
def test_an_input_that_is_no_schema_is_refused_and_not_listed(ran, schema):
    declare(ran, "act", input=schema)
    [fault] = registry.faults()
    assert (fault.id, fault.dangerous) == ("agentweb.E015", True)
    assert manifest()["actions"] == []


@pytest.mark.requirement("AA-2.30")
def test_the_cart_of_the_specification_has_the_entry_of_the_specification(ran):
    declare(
        ran,
        "add_to_cart",
        description="Add a product to the cart",
        method="POST",
        path="/api/cart",
        effect="write",
        scope="cart:write",
        input=CART,
    )
    assert entry_of("add_to_cart") == {
        "name": "add_to_cart",
        "description": "Add a product to the cart",
        "method": "POST",
        "path": "/api/cart",
        "effect": "write",
        "scope": "cart:write",
        "input": {
            "type": "object",
            "required": ["product_id", "quantity"],
            "properties": {
                "product_id": {"type": "string"},
                "quantity": {"type": "integer", "minimum": 1, "maximum": 20},
            },
        },
    }


STEPS = [
    {"action": "search_products", "with": {"query": "$input.query"}},
    {"action": "add_to_cart", "with": {"product_id": "$steps.0.items.0.id", "quantity": "$input.quantity"}},
    {"action": "checkout", "with": {"cart_id": "$steps.1.cart_id"}},
]


@pytest.fixture
def buying(ran):
    declare(
        ran, "search_products", input={"type": "object", "required": ["query"], "properties": {"query": TEXT}}
    )
    declare(ran, "add_to_cart", effect="write", scope="cart:write", input=CART)
    declare(ran, "checkout", effect="spend", scope="checkout", cost={"amount": 5, "currency": "USD"},
            input={"type": "object", "required": ["cart_id"], "properties": {"cart_id": TEXT}})  # fmt: skip


@pytest.mark.requirement("AA-2.15", "AA-2.16")
def test_every_flow_is_listed_by_its_name_with_its_steps_in_order(buying):
    flow("buy_product", steps=STEPS)
    flow(
        "find_twice",
        steps=[STEPS[0], {"action": "search_products", "with": {"query": "$steps.0.items.0.id"}}],
    )
    document = manifest()
    listed = {found["name"]: found["steps"] for found in document["flows"]}
    assert listed == {
        "buy_product": STEPS,
        "find_twice": [STEPS[0], {"action": "search_products", "with": {"query": "$steps.0.items.0.id"}}],
    }
    inputs = {entry["name"]: entry["input"]["properties"] for entry in document["actions"]}
    for step in (step for steps in listed.values() for step in steps):
        assert step["with"].keys() <= inputs[step["action"]].keys()


@pytest.mark.requirement("AA-2.16")
@pytest.mark.parametrize(
    ("step", "fault"),
    [
        ({"action": "vanish", "with": {}}, "agentweb.E033"),
        ({"action": "search_products", "with": {}}, "agentweb.E035"),
        ({"action": "add_to_cart", "with": {"product_id": "tea", "quantity": 21}}, "agentweb.E035"),
    ],
)
def test_a_flow_with_a_step_that_no_action_could_take_is_not_listed(buying, step, fault):
    flow("buy_product", steps=[STEPS[0], step])
    assert [found.id for found in registry.faults() if found.is_error] == [fault]
    assert manifest()["flows"] == []


@pytest.mark.requirement("AA-6.1", "AA-1.1")
def test_one_function_is_all_that_an_author_writes(ran):
    @action
    def opening_hours(inp, ctx):
        """When the shop is open."""
        return {"from": 9, "to": 18}

    answer = send("GET", MANIFEST)
    assert (answer.status_code, answer["Content-Type"].partition(";")[0]) == (200, "application/json")
    [entry] = json.loads(answer.content)["actions"]
    assert json.loads(send(entry["method"], entry["path"]).content) == {"from": 9, "to": 18}
