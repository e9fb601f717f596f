"""The manifest of a page: the specification's example, the public form, and that of a session."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpResponse
from django.test import override_settings

from agentweb import action, page
from agentweb.access import sessions
from agentweb.catalog.registry import registry
from agentweb.testing import PersonKey, TestAgent, clock
from agentweb.wire import toon
from tests.aip import sites
from tests.aip.sites import ORIGIN, declare_control_panel, declare_shop
from tests.support.node import toon_values
from tests.support.web import send

pytestmark = [
    pytest.mark.usefixtures("catalog", "many_callers", "site_key"),
    pytest.mark.urls("tests.aip.sites"),
]

EXAMPLE = {
    "protocol": "AIP",
    "version": "0.1-demo",
    "page": "/control-panel",
    "sitemap": "https://example.com/sitemap.toon",
    "state_scope": "session",
    "browser_connected": True,
    "invoke_url": "https://example.com/__aim/invoke",
    "invoke_method": "POST",
    "invoke_example": {"actionId": "approve_request", "input": "req-3"},
    "state": {
        "authenticated": True,
        "view": "control-panel",
        "requests": [{"id": "req-3", "amount": 4200, "status": "pending"}],
    },
    "actions": [
        {
            "id": "approve_request",
            "description": "Approve one pending request",
            "input_schema": {
                "type": "string",
                "description": "The request ID itself; do not wrap it in an object",
                "minLength": 1,
            },
            "input_example": "req-3",
            "consequential": True,
        }
    ],
}
"""The example of the specification."""


def ada(**columns: Any) -> User:
    return User.objects.create_user("ada", **columns)


def session(user: Any, *scopes: str, **words: Any) -> TestAgent:
    return TestAgent.with_session(scopes=scopes or ("cart:read",), user=user, **words)


def ids(manifest: Any) -> list[str]:
    return [entry["id"] for entry in manifest["actions"]]


@pytest.mark.requirement(
    "AIP-2.1", "AIP-2.2", "AIP-2.3", "AIP-2.4", "AIP-2.9", "AIP-2.12", "AIP-2.13", "AIP-4.2", "AIP-3.1"
)
@override_settings(AGENTWEB={"ORIGIN": "https://example.com"})
def test_the_example_of_the_specification_is_reproduced_member_for_member(monkeypatch: Any) -> None:
    from agentweb.aip import views
    from agentweb.aip.bridge.live import Live

    monkeypatch.setattr(views, "live", lambda user_id, path: Live(is_connected=True))
    declare_control_panel()
    agent = session(ada(), "requests:approve", origin="https://example.com")
    manifest = json.loads(agent.get("/control-panel.json").content)
    held = manifest.pop("session")
    assert json.dumps(manifest) == json.dumps(EXAMPLE)  # the order of members too
    assert held["scopes"] == ["requests:approve"]
    assert held["expires_at"].endswith("Z")


@pytest.mark.requirement("AIP-1.1", "AIP-1.2", "AIP-2.6", "AIP-5.1", "AIP-5.2", "AIP-5.3")
def test_without_a_token_it_is_the_whole_catalog_with_no_state() -> None:
    declare_control_panel()
    answer = send("GET", "/control-panel.json")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json; charset=utf-8")
    manifest = answer.json()
    assert list(manifest) == [*EXAMPLE, "auth"]
    assert manifest["state_scope"] == "public_schema_only"
    assert manifest["state"] == {}
    assert manifest["browser_connected"] is False
    assert manifest["actions"] == EXAMPLE["actions"]
    assert manifest["invoke_example"] == EXAMPLE["invoke_example"]
    assert manifest["auth"] == {
        "sessions_url": f"{ORIGIN}/__aim/sessions",
        "connect_url": f"{ORIGIN}/agent-access/connect",
    }
    as_toon = send("GET", "/control-panel.toon")
    assert (as_toon.status_code, as_toon["Content-Type"]) == (200, "text/toon; charset=utf-8")
    assert toon.loads(as_toon.content, max_bytes=10_000) == manifest


ADDRESSES = ("/index", "/cart", "/control-panel", "/p/tea", "/orders/7", "/staff")


@pytest.mark.requirement("AIP-1.3")
def test_every_toon_document_decodes_to_the_json_document_for_us_and_for_the_reference() -> None:
    declare_shop()
    staff = ada(id=7, is_staff=True)
    agent = session(staff, "cart:*", "requests:*")
    documents, values = [], []
    for get, addresses in ((lambda path: send("GET", path), ADDRESSES[:4]), (agent.get, ADDRESSES)):
        for address in (*addresses, "/sitemap"):
            as_toon = get(f"{address}.toon")
            as_json = get(f"{address}.json" if address != "/sitemap" else "/sitemap.agents.json")
            assert (as_toon.status_code, as_json.status_code) == (200, 200), address
            assert toon.loads(as_toon.content, max_bytes=100_000) == as_json.json()
            documents.append(as_toon.content)
            values.append(as_json.json())
    assert len(documents) == 12
    assert toon_values(documents) == values


@pytest.mark.parametrize("path", ["/cart.json", "/cart.json/"])
def test_both_slash_forms_of_a_page_have_one_manifest(path: str) -> None:
    page("/cart/", title="Cart")
    assert send("GET", path).json()["page"] == "/cart"
    assert send("GET", "/cart/.json").status_code == 404
    assert send("GET", "/index.json").status_code == 404


def test_the_front_page_has_its_manifest_at_index() -> None:
    page("/", title="Front")
    assert send("GET", "/index.json").json()["page"] == "/"
    assert send("GET", "/.json").status_code == 404


def test_a_page_without_actions_has_no_invoke_example() -> None:
    page("/", title="Front")
    manifest = send("GET", "/index.json").json()
    assert "invoke_example" not in manifest
    assert manifest["actions"] == []


@pytest.mark.requirement("AIP-1.5")
def test_a_page_lists_its_own_actions_those_it_names_first() -> None:
    for name, pages in (("aa", ["/cart"]), ("bb", ["/other"]), ("cc", ["/cart/"]), ("dd", [])):
        action(name, description="Work.", input=None, pages=pages)(lambda inp, ctx: None)
    page("/cart", title="Cart", actions=["dd", "cc"])
    assert ids(send("GET", "/cart.json").json()) == ["dd", "cc", "aa"]


def test_an_action_may_name_a_page_with_or_without_its_converters() -> None:
    for name, path in (("aa", "/orders/<pk>"), ("bb", "/orders/<int:pk>"), ("cc", "/orders/<int:id>")):
        action(name, description="Work.", input=None, pages=[path])(lambda inp, ctx: None)
    page("/orders/<int:pk>", title="Order")
    assert ids(send("GET", "/orders/7.json").json()) == ["aa", "bb"]


def test_a_page_with_parameters_has_a_manifest_for_each_of_its_urls() -> None:
    page("/orders/<int:pk>", title="Order", state=lambda ctx: {"pk": ctx.kwargs["pk"]})
    assert send("GET", "/orders/42.json").json()["page"] == "/orders/42"
    assert session(ada()).get("/orders/42.json").json()["state"] == {"pk": 42}
    assert send("GET", "/orders/x.json").status_code == 404


@pytest.mark.requirement("AIP-4.7")
def test_consequential_follows_the_effect_or_the_declaration() -> None:
    for name, words in {
        "reading": {},
        "writing": {"effect": "write", "scope": "a"},
        "sending": {"effect": "send", "scope": "a"},
        "removing": {"effect": "delete", "scope": "a"},
        "paying": {"effect": "spend", "scope": "a", "cost": {"amount": 5, "currency": "USD"}},
        "raised": {"effect": "write", "scope": "a", "consequential": True},
    }.items():
        action(name, description="Work.", input=None, pages=["/"], **words)(lambda inp, ctx: None)
    page("/", title="Front")
    found = {entry["id"]: entry["consequential"] for entry in send("GET", "/index.json").json()["actions"]}
    assert found == {
        "reading": False,
        "writing": False,
        "sending": True,
        "removing": True,
        "paying": True,
        "raised": True,
    }


@pytest.mark.requirement("AIP-5.5", "AIP-5.6", "AIP-5.7")
def test_a_session_sees_its_person_s_state_and_what_its_grant_allows() -> None:
    declare_shop()
    manifest = session(ada(), "cart:read").get("/cart.json").json()
    assert manifest["state_scope"] == "session"
    assert manifest["state"] == {"mark": "MARK-ada", "at": {}}
    assert ids(manifest) == []
    assert "auth" not in manifest
    assert "invoke_example" not in manifest
    allowed = session(User.objects.get(), "cart:write").get("/cart.json").json()
    assert ids(allowed) == ["empty_cart"]


def test_what_is_denied_is_listed_on_request_and_marked() -> None:
    declare_shop()
    agent = session(ada(), "cart:read")
    [denied] = agent.get("/cart.json?include=denied").json()["actions"]
    assert (denied["id"], denied["allowed"]) == ("empty_cart", False)
    assert list(denied)[-1] == "allowed"
    allowed = session(User.objects.get(), "cart:write").get("/cart.json?include=denied").json()
    assert "allowed" not in allowed["actions"][0]
    refused = agent.get("/cart.json?include=everything")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_parameter")
    assert agent.get("/cart.json?page=2&q=tea").status_code == 200


def test_a_hidden_action_is_offered_to_those_who_may_see_it() -> None:
    declare_shop()
    assert ids(send("GET", "/cart.json").json()) == ["empty_cart"]
    assert ids(session(ada(is_staff=True), "cart:*").get("/cart.json").json()) == ["empty_cart", "audit_cart"]


@pytest.mark.parametrize("kind", ["site's grant", "person's grant"])
def test_a_signed_caller_sees_what_a_session_would(kind: str) -> None:
    declare_shop()
    user = ada()
    if kind == "site's grant":
        agent = TestAgent(scopes=["cart:write"], user=user)
    else:
        agent = TestAgent()
        agent.act_under(PersonKey(user).grant(agent, ["cart:write"]))
    answer = agent.get("/cart.json")
    assert answer["Cache-Control"] == "no-store"
    manifest = answer.json()
    assert manifest["state_scope"] == "session"
    assert manifest["state"]["mark"] == "MARK-ada"
    assert ids(manifest) == ["empty_cart"]
    assert manifest["session"]["scopes"] == ["cart:write"]


def test_a_key_without_a_grant_gets_the_public_form_and_no_shared_cache_keeps_it() -> None:
    declare_shop()
    answer = TestAgent().get("/cart.json")
    assert answer.status_code == 200
    assert answer.json()["state_scope"] == "public_schema_only"
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.requirement("AIP-1.4")
def test_the_next_manifest_shows_what_changed() -> None:
    declare_shop()
    user = ada()
    agent = session(user)
    assert agent.get("/cart.json").json()["state"]["mark"] == "MARK-ada"
    User.objects.filter(pk=user.pk).update(username="lovelace")
    assert agent.get("/cart.json").json()["state"]["mark"] == "MARK-lovelace"


@pytest.mark.requirement("AIP-5.8")
@pytest.mark.parametrize(
    ("end", "code"),
    [("none", "session_invalid"), ("revoked", "session_revoked"), ("time", "session_expired")],
)
@pytest.mark.parametrize("address", ["/cart.json", "/cart.toon", "/sitemap.toon"])
def test_a_token_that_does_not_hold_is_401_and_never_the_public_form(
    end: str, code: str, address: str
) -> None:
    declare_shop()
    with clock() as moving:
        agent = session(ada())
        assert agent.get(address).status_code == 200
        if end == "none":
            agent.token = "agw_" + 43 * "A"
        elif end == "revoked":
            assert agent.session is not None
            sessions.revoke(agent.session.id)
        else:
            moving.forward(3_601)
        answer = agent.get(address)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, code)
    assert b"public_schema_only" not in answer.content
    assert "public" not in answer["Cache-Control"]


def test_a_token_in_the_url_is_refused() -> None:
    declare_shop()
    answer = send("GET", "/cart.json?token=agw_x")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "token_in_url")


@pytest.mark.parametrize("address", ["/orders/8.json", "/staff.toon", "/staff.json"])
def test_a_page_that_the_caller_may_not_see_is_404_in_both_scopes(address: str) -> None:
    declare_shop()
    agent = session(ada(id=7), "*")
    for answer in (send("GET", address), agent.get(address), send("HEAD", address)):
        assert answer.status_code == 404
    assert send("POST", address).status_code == 404
    assert send("OPTIONS", address).status_code == 404


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS"])
@pytest.mark.parametrize(("address", "missing"), [("/orders/8", "/orderz/8"), ("/staff", "/stuff")])
def test_a_hidden_page_answers_as_one_that_is_not_there(
    address: str, missing: str, method: str, settings: Any
) -> None:
    declare_shop()
    settings.ROOT_URLCONF = WithItsOwn404
    agent = session(ada(id=7), "*")
    for suffix in (".json", ".toon", ".json/", ".json?a=b"):
        for ask in (partial(send, method), lambda path: agent.request(method, path)):
            hidden, nothing = ask(address + suffix), ask(missing + suffix)
            assert (hidden.status_code, nothing.status_code) == (404, 404)
            assert dict(hidden.headers) == dict(nothing.headers)
            text = hidden.content.decode().replace(address, missing).replace(address[1:], missing[1:])
            assert text == nothing.content.decode()


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize(
    ("query", "headers"),
    [
        pytest.param("", {"Authorization": "Bearer agw_" + 43 * "A"}, id="no session's token"),
        pytest.param("", {"Authorization": "Bearer x"}, id="no token"),
        pytest.param("?token=agw_x", {}, id="token in the URL"),
        pytest.param("?a=%ff", {}, id="query"),
    ],
)
def test_a_token_of_no_worth_does_not_tell_a_hidden_page_from_one_that_is_not_there(
    method: str, query: str, headers: dict[str, str], settings: Any
) -> None:
    declare_shop()
    settings.ROOT_URLCONF = WithItsOwn404
    for suffix in (".json", ".toon"):
        hidden, nothing = (send(method, f"{stem}{suffix}{query}", **headers) for stem in ("/staff", "/stuff"))
        assert (hidden.status_code, nothing.status_code) == (404, 404)
        assert dict(hidden.headers) == dict(nothing.headers)
        assert hidden.content.decode().replace("/staff", "/stuff") == nothing.content.decode()


def test_the_owner_of_a_session_that_is_over_sees_no_more_than_everybody() -> None:
    declare_shop()
    page("/open", title="Open", permission=lambda user: True)
    with clock() as moving:
        agent = session(ada(id=7), "*")
        assert agent.get("/orders/7.json").status_code == 200
        moving.forward(3_601)
        assert agent.get("/orders/7.json").status_code == 404
        answer = agent.get("/open.json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "session_expired")


class WithItsOwn404:
    """A site whose page for what is not there tells what it knows of the request."""

    urlpatterns = sites.urlpatterns

    @staticmethod
    def handler404(request: Any, exception: Any) -> HttpResponse:
        known = (request.user.is_authenticated, request.resolver_match, type(exception).__name__)
        return HttpResponse(f"<title>{request.path} {known}</title>", status=404)


def test_the_site_s_404_of_a_hidden_page_sees_the_person_of_the_cookie(client: Any, settings: Any) -> None:
    declare_shop()
    settings.ROOT_URLCONF = WithItsOwn404
    client.force_login(ada())
    for path in ("/staff.json", "/stuff.json"):
        assert b"(True, None, 'Resolver404')" in client.get(path).content


def test_a_guarded_page_is_there_for_who_may_see_it() -> None:
    declare_shop()
    agent = session(ada(id=7), "cart:read")
    assert agent.get("/orders/7.json").json()["state"]["at"] == {"pk": 7}
    refused = agent.request("POST", "/orders/7.json")
    assert (refused.status_code, refused["Allow"]) == (405, "GET, HEAD, OPTIONS")


def test_a_permission_that_fails_hides_the_page_and_is_logged(caplog: Any) -> None:
    page("/cart", title="Cart", permission=lambda user: user.no_such_attribute)
    assert send("GET", "/cart.json").status_code == 404
    assert "permission() of the page /cart failed" in caplog.text


def test_a_public_manifest_may_be_kept_and_asked_for_again() -> None:
    declare_shop()
    first = send("GET", "/cart.json")
    assert first["Cache-Control"] == "public, max-age=60"
    assert "Authorization" in first["Vary"]
    assert first["ETag"].startswith('"')
    again = send("GET", "/cart.json", If_None_Match=first["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    assert send("GET", "/cart.toon")["ETag"] != first["ETag"]
    head = send("HEAD", "/cart.json")
    assert (head.content, head["Content-Length"]) == (b"", str(len(first.content)))


def test_a_session_manifest_is_kept_by_nobody_and_has_no_tag() -> None:
    declare_shop()
    agent = session(ada())
    public = send("GET", "/cart.json")
    answer = agent.get("/cart.json", headers={"If-None-Match": public["ETag"]})
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    assert "ETag" not in answer


def test_every_origin_may_read_and_no_cookie_comes_along() -> None:
    declare_shop()
    answer = send("GET", "/cart.json", Origin="https://elsewhere.example")
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer
    assert send("OPTIONS", "/cart.json")["Allow"] == "GET, HEAD, OPTIONS"
    preflight = send("OPTIONS", "/cart.json", Access_Control_Request_Method="GET")
    assert (preflight.status_code, preflight["Access-Control-Allow-Origin"]) == (204, "*")
    assert send("POST", "/cart.json").status_code == 405


def test_a_login_cookie_does_not_make_a_session_of_the_reader(client: Any) -> None:
    declare_shop()
    client.force_login(ada(is_staff=True))
    answer = client.get("/cart.json")
    assert answer.json()["state_scope"] == "public_schema_only"
    assert answer["Cache-Control"] == "public, max-age=60"
    assert client.get("/staff.json").status_code == 404


def test_a_public_manifest_costs_no_query_cold_or_warm(django_assert_num_queries: Any) -> None:
    declare_shop()
    for address in ("/cart.json", "/cart.toon", "/p/tea.json", "/sitemap.toon", "/orders/9.json"):
        with django_assert_num_queries(0):
            first = send("GET", address)
            assert send("GET", address).content == first.content or first.status_code == 404


def test_a_session_manifest_costs_the_same_however_many_actions_there_are(
    django_assert_max_num_queries: Any,
) -> None:
    for number in range(40):
        action(f"a{number}", description="W.", input=None, pages=["/cart"], visible=lambda user: True)(
            lambda inp, ctx: None
        )
    page("/cart", title="Cart", state=lambda ctx: {"who": ctx.user.get_username()})
    agent = session(ada())
    agent.get("/cart.json")
    with django_assert_max_num_queries(6):
        assert len(agent.get("/cart.json").json()["actions"]) == 40


@pytest.mark.requirement("AIP-2.8", "AIP-2.10", "AIP-4.1")
def test_the_example_is_accepted_as_it_stands_where_the_manifest_says() -> None:
    declare_control_panel()
    agent = session(ada(), "requests:approve")
    manifest = agent.get("/control-panel.json").json()
    address = manifest["invoke_url"].removeprefix(ORIGIN)
    answer = agent.request(manifest["invoke_method"], address, manifest["invoke_example"])
    assert answer.status_code == 200
    assert answer.json()["result"] == {"approved": "req-3"}


def test_a_new_declaration_is_served_at_once() -> None:
    declare_shop()
    before = send("GET", "/cart.json")
    action("brand_new", description="Words.", input=None, pages=["/cart"])(lambda inp, ctx: None)
    after = send("GET", "/cart.json")
    assert ids(after.json()) == ["empty_cart", "brand_new"]
    assert after["ETag"] != before["ETag"]
    page("/new", title="New")
    assert send("GET", "/new.json").status_code == 200


def test_kept_documents_are_bounded() -> None:
    from agentweb.aip import published

    page("/p/<slug:slug>", title="Product")
    for number in range(520):
        send("GET", f"/p/x{number}.json")
    assert len(published.documents) == 512
    assert send("GET", "/p/x1.json").json()["page"] == "/p/x1"


def test_an_action_without_a_form_on_aip_is_left_out() -> None:
    nested = {"type": "object", "properties": {"a": {"type": "object"}}}
    action("deep", description="W.", input=nested, pages=["/"])(lambda inp, ctx: None)
    page("/", title="Front")
    assert send("GET", "/index.json").json()["actions"] == []


def test_a_browser_action_is_published_and_offered_when_a_page_is_open(monkeypatch: Any) -> None:
    from agentweb.aip import views
    from agentweb.aip.bridge.live import Live

    page("/cart", title="Cart", state=lambda ctx: {"lines": 2}, browser_actions=[
        {"name": "highlight", "description": "Show a line.", "input": {"type": "string"}, "example": "tea"},
    ])  # fmt: skip
    assert ids(send("GET", "/cart.json").json()) == ["highlight"]
    agent = session(ada())
    assert ids(agent.get("/cart.json").json()) == []
    [denied] = agent.get("/cart.json?include=denied").json()["actions"]
    assert denied["allowed"] is False
    state = {"lines": 99, "scrolled_to": "tea", "card": {"cvv": "123"}}
    monkeypatch.setattr(views, "live", lambda user_id, path: Live(True, state, frozenset({"highlight"})))
    manifest = agent.get("/cart.json").json()
    assert ids(manifest) == ["highlight"]
    assert manifest["browser_connected"] is True
    # The site's own word stands, and secrets of the browser go the way of all secrets.
    assert manifest["state"] == {"lines": 2, "scrolled_to": "tea", "card": {}}


def test_without_pages_nothing_of_this_answers() -> None:
    assert registry.pages() == ()
    for address in ("/cart.json", "/index.toon", "/sitemap.toon", "/sitemap.agents.json"):
        assert send("GET", address).status_code == 404
    cache.clear()
