from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from agentweb.client.agent import AgentClient
from agentweb.client.errors import SiteError
from agentweb.client.keystore import KeyStore
from agentweb.wire.errors import AgentError, ClientError, InputError
from agentweb.wire.grants import attenuate, decode_header, new_grant
from agentweb.wire.http_signature import SignedRequest, parse_signature
from agentweb.wire.signing import SigningKey
from tests.client.conftest import AGENT, PERSON
from tests.client.site import MANIFEST, Reply, Seen, Site, Time, error

Grant = Callable[..., str]

CART: dict[str, Any] = {
    "effect": "write",
    "scope": "cart:write",
    "input": {
        "type": "object",
        "required": ["product_id", "quantity"],
        "properties": {
            "product_id": {"type": "string"},
            "quantity": {"type": "integer", "minimum": 1, "maximum": 20},
        },
        "additionalProperties": False,
    },
}
TEA = {"product_id": "tea", "quantity": 2}


def refusal(call: Callable[[], object]) -> AgentError:
    with pytest.raises(AgentError) as caught:
        call()
    return caught.value


def grant_of(seen: Seen) -> str:
    chain = decode_header(seen.headers["agent-grant"])
    assert isinstance(chain, list)
    return chain[-1].id


def parsed(site: Site, seen: Seen) -> Any:
    path, _, query = seen.path.partition("?")
    return parse_signature(
        SignedRequest(seen.method, site.authority, path, "?" + query, seen.headers, seen.body)
    )


# --- what is sent ---


@pytest.mark.requirement("AA-7.1", "AA-7.3")
def test_write_is_signed_under_a_grant_with_a_key_of_its_own(
    site: Site, client: AgentClient, grant: Grant, time: Time
) -> None:
    held = grant("cart:*")
    site.action("add_to_cart", **CART)
    result = client.call_action(site.url, "add_to_cart", TEA)
    (seen,) = site.calls()
    assert (seen.method, seen.path, seen.json) == ("POST", "/api/add_to_cart", TEA)
    assert seen.headers["content-type"] == "application/json"
    assert site.signer_of(seen) == AGENT.public
    assert grant_of(seen) == held
    signature = parsed(site, seen)
    assert "idempotency-key" in signature.components
    assert (signature.created, signature.expires) == (int(time.now), int(time.now) + 60)
    assert (result.value, result.status, result.replayed) == ({"done": 1}, 200, False)
    assert (result.grant, result.idempotency_key) == (held, seen.key)


def test_read_without_scope_is_sent_unsigned_although_there_are_grants(
    site: Site, client: AgentClient, grant: Grant
) -> None:
    grant("*")
    site.action("search", effect="read", method="GET", input={"properties": {"q": {"type": "string"}}})
    result = client.call_action(site.url, "search", {"q": "green tea"})
    (seen,) = site.calls()
    assert (seen.path, seen.body, seen.key) == ("/api/search?q=green%20tea", b"", None)
    assert site.is_unsigned(seen)
    assert (result.grant, result.idempotency_key) == (None, None)


@pytest.mark.requirement("AA-7.3")
def test_read_with_a_scope_is_signed_without_an_idempotency_key(
    site: Site, client: AgentClient, grant: Grant
) -> None:
    grant("orders:read")
    site.action("orders", effect="read", method="GET", scope="orders:read")
    client.call_action(site.url, "orders")
    (seen,) = site.calls()
    assert site.signer_of(seen) == AGENT.public
    assert seen.key is None


@pytest.mark.requirement("AA-7.1", "AA-7.3")
def test_delete_sends_its_input_in_the_url_and_has_a_key(
    site: Site, client: AgentClient, grant: Grant
) -> None:
    grant("*")
    site.action(
        "remove",
        effect="delete",
        method="DELETE",
        path="/api/lines/{id}",
        input={"properties": {"id": {"type": "string"}, "why": {"type": "string"}}},
    )
    client.call_action(site.url, "remove", {"id": "a/b é", "why": "x&y"})
    (seen,) = site.calls()
    assert (seen.method, seen.path, seen.body) == ("DELETE", "/api/lines/a%2Fb%20%C3%A9?why=x%26y", b"")
    assert site.signer_of(seen) == AGENT.public
    assert seen.key is not None


def test_action_without_scope_that_acts_is_signed_under_any_grant(
    site: Site, client: AgentClient, grant: Grant
) -> None:
    held = grant("something:else")
    site.action("subscribe", effect="send")
    assert client.call_action(site.url, "subscribe").grant == held


def test_numbers_travel_exactly(site: Site, client: AgentClient, grant: Grant) -> None:
    grant("*")
    site.action("offer")
    site.script("/api/offer", Reply(body=b'{"price":0.10,"big":12345678901234567890}'))
    result = client.call_action(site.url, "offer", {"price": Decimal("4.02"), "ratio": 0.1})
    assert site.calls()[0].body == b'{"price":4.02,"ratio":0.1}'
    assert result.value == {"price": Decimal("0.10"), "big": 12345678901234567890}


def test_missing_input_is_the_empty_object(site: Site, client: AgentClient, grant: Grant) -> None:
    grant("*")
    site.action("tick")
    client.call_action(site.url, "tick")
    assert site.calls()[0].body == b"{}"


def test_any_url_of_the_site_leads_to_its_actions(site: Site, client: AgentClient) -> None:
    site.action("ping", effect="read", method="GET")
    for url in (site.url, f"{site.url}/", f"{site.url}/a/b?c", f"{site.url}{MANIFEST}"):
        client.call_action(url, "ping")
    assert len(site.calls(MANIFEST)) == 1


# --- what is not sent ---


@pytest.mark.requirement("AA-7.2")
def test_invalid_input_is_refused_with_every_problem_and_nothing_is_sent(
    site: Site, client: AgentClient, grant: Grant
) -> None:
    grant("*")
    site.action("add_to_cart", **CART)
    caught = refusal(lambda: client.call_action(site.url, "add_to_cart", {"quantity": 0, "colour": "red"}))
    assert isinstance(caught, InputError)
    assert caught.problems is not None
    assert [(problem["pointer"], problem["code"]) for problem in caught.problems] == [
        ("/colour", "unknown_field"),
        ("/product_id", "required"),
        ("/quantity", "minimum"),
    ]
    assert site.calls() == []
    assert client.pending() == []


def test_unknown_action_names_the_closest_and_nothing_is_sent(site: Site, client: AgentClient) -> None:
    site.action("add_to_cart", **CART)
    caught = refusal(lambda: client.call_action(site.url, "add_to_card", TEA))
    assert (caught.code, caught.extra["closest"]) == ("action_not_found", ["add_to_cart"])
    assert [seen.path for seen in site.seen] == [MANIFEST]


def test_action_that_was_added_since_is_found(site: Site, client: AgentClient) -> None:
    client.discover_actions(site.url)
    site.action("ping", effect="read", method="GET")
    client.call_action(site.url, "ping")
    assert len(site.calls(MANIFEST)) == 2


def test_without_a_grant_the_error_carries_the_request_for_one(site: Site, client: AgentClient) -> None:
    site.action("add_to_cart", **CART)
    site.manifest["endpoints"] = {"grants": "/agent-actions/grants"}
    caught = refusal(lambda: client.call_action(site.url, "add_to_cart", TEA))
    assert isinstance(caught, ClientError)
    assert caught.code == "grant_required"
    assert caught.extra == {
        "site": site.authority,
        "required_scope": "cart:write",
        "grants_url": f"{site.url}/agent-actions/grants",
        "grant_request": {
            "scopes": ["cart:write"],
            "expires_in": 86_400,
            "reason": f"To call add_to_cart at {site.authority}.",
        },
    }
    assert site.calls() == []
    assert client.pending() == []


@pytest.mark.parametrize(("name", "scope"), [("Subscribe", "subscribe"), ("do/it", "call")])
def test_request_for_any_grant_asks_for_the_least(
    site: Site, client: AgentClient, name: str, scope: str
) -> None:
    site.action(name, path="/api/x")
    caught = refusal(lambda: client.call_action(site.url, name))
    assert caught.extra["grant_request"]["scopes"] == [scope]
    assert "required_scope" not in caught.extra


PAY: dict[str, Any] = {
    "effect": "spend",
    "scope": "checkout",
    "cost": {"currency": "USD", "field": "price"},
    "input": {"properties": {"price": {"type": "number"}}},
}


@pytest.mark.requirement("AA-2.23")
@pytest.mark.parametrize(
    "mandate", [None, ("EUR", 100_00, 100_00), ("USD", 19_98, 100_00), ("USD", 100_00, 19_98)]
)
def test_cost_that_no_mandate_covers_is_not_sent(
    site: Site, client: AgentClient, grant: Grant, mandate: tuple[str, int, int] | None
) -> None:
    grant("checkout", spending=mandate)
    site.action("checkout", **PAY)
    caught = refusal(lambda: client.call_action(site.url, "checkout", {"price": Decimal("19.99")}))
    assert caught.code == "grant_required"
    assert caught.extra["grant_request"]["mandate"] == {
        "currency": "USD",
        "per_tx": "19.99",
        "total": "19.99",
    }
    assert "19.99 USD" in caught.message
    assert site.calls() == []


def test_cost_that_a_mandate_covers_is_sent_under_it(site: Site, client: AgentClient, grant: Grant) -> None:
    grant("checkout")
    paying = grant("checkout", spending=("USD", 19_99, 19_99))
    site.action("checkout", **PAY)
    assert client.call_action(site.url, "checkout", {"price": Decimal("19.99")}).grant == paying


def test_price_that_is_no_amount_is_refused(site: Site, client: AgentClient, grant: Grant) -> None:
    grant("checkout", spending=("USD", 100_00, 100_00))
    site.action("checkout", **PAY)
    caught = refusal(lambda: client.call_action(site.url, "checkout", {"price": Decimal("1.999")}))
    assert (caught.code, caught.field) == ("invalid_input", "price")
    assert site.calls() == []


def test_spending_without_a_declared_cost_needs_some_mandate(
    site: Site, client: AgentClient, grant: Grant
) -> None:
    site.action("checkout", effect="spend", scope="checkout")
    grant("checkout")
    caught = refusal(lambda: client.call_action(site.url, "checkout"))
    assert "mandate" not in caught.extra["grant_request"]
    paying = grant("checkout", spending=("EUR", 1, 1))
    assert client.call_action(site.url, "checkout").grant == paying


def test_bad_schema_of_an_action_stops_that_action_only(site: Site, client: AgentClient) -> None:
    site.action("bad", effect="read", method="GET", input={"$ref": "http://127.0.0.1:1/s.json"})
    site.action("ping", effect="read", method="GET")
    assert refusal(lambda: client.call_action(site.url, "bad")).code == "manifest_invalid"
    assert client.call_action(site.url, "ping").status == 200


@pytest.mark.parametrize(
    "key", ["", "short", "x" * 15, "x" * 256, "a key with blanks in it", "é" * 20, "x" * 20 + "\n"]
)
def test_key_that_is_no_idempotency_key_is_refused(client: AgentClient, site: Site, key: str) -> None:
    caught = refusal(lambda: client.call_action(site.url, "x", idempotency_key=key))
    assert caught.code == "idempotency_key_invalid"
    assert site.seen == []


def test_callers_own_key_is_sent_and_not_kept(site: Site, client: AgentClient, grant: Grant) -> None:
    grant("*")
    site.action("add")
    for _ in range(2):
        client.call_action(site.url, "add", idempotency_key="my-own-key-0123456")
    assert [seen.key for seen in site.calls()] == ["my-own-key-0123456"] * 2
    assert len(site.acts) == 1


# --- which grant ---


@pytest.mark.requirement("AA-7.4")
def test_narrowest_grant_is_used(site: Site, client: AgentClient, grant: Grant) -> None:
    site.action("add_to_cart", **CART)
    for scopes in (("*",), ("cart:*",), ("cart:write", "orders"), ("cart:write",)):
        narrower = grant(*scopes)
        assert client.call_action(site.url, "add_to_cart", TEA).grant == narrower


def test_grant_of_another_site_is_never_shown(
    site: Site, client: AgentClient, keystore: KeyStore, time: Time
) -> None:
    keystore.add_grant(
        new_grant(
            issuer=PERSON,
            subject=AGENT.public,
            audience="shop.example",
            scopes=["*"],
            not_before=int(time.now) - 10,
            expires=int(time.now) + 1_000,
        )
    )
    site.action("add_to_cart", **CART)
    assert refusal(lambda: client.call_action(site.url, "add_to_cart", TEA)).code == "grant_required"


def test_whole_chain_of_a_handed_down_grant_is_sent(site: Site, client: AgentClient, time: Time) -> None:
    parent = SigningKey.generate()
    root = new_grant(
        issuer=PERSON,
        subject=parent.public,
        audience=site.authority,
        scopes=["cart:*"],
        not_before=int(time.now),
        expires=int(time.now) + 1_000,
        delegate=1,
    )
    leaf = client.add_grant(attenuate([root], parent, subject=AGENT.public, scopes=["cart:write"]))
    site.action("add_to_cart", **CART)
    assert client.call_action(site.url, "add_to_cart", TEA).grant == leaf.id
    assert site.signer_of(site.calls()[0]) == AGENT.public


def test_read_by_another_method_than_get_carries_no_mandate(
    site: Site, client: AgentClient, grant: Grant
) -> None:
    grant("orders:read", spending=("USD", 1, 1))
    site.action("orders", effect="read", method="GET", scope="orders:read")
    site.action("claims_to_read", effect="read", scope="orders:read")
    client.call_action(site.url, "orders")
    assert refusal(lambda: client.call_action(site.url, "claims_to_read")).code == "grant_required"
    plain = grant("orders:read")
    assert client.call_action(site.url, "claims_to_read").grant == plain


def test_revoked_grant_is_not_used_again(site: Site, client: AgentClient, grant: Grant) -> None:
    narrow, wide = grant("cart:write"), grant("*")
    site.action("add_to_cart", **CART)
    site.script("/api/add_to_cart", error(401, "grant_revoked"))
    result = client.call_action(site.url, "add_to_cart", TEA)
    assert result.grant == wide
    assert [grant_of(seen) for seen in site.calls()] == [narrow, wide]
    assert len({seen.key for seen in site.calls()}) == 1  # one intent, whatever it is signed under
    assert client.pending() == []
    assert client.call_action(site.url, "add_to_cart", TEA).grant == wide


@pytest.mark.parametrize("code", ["grant_revoked", "grant_expired", "grant_used"])
def test_every_grant_is_tried_once_before_the_call_is_given_up(
    site: Site, client: AgentClient, grant: Grant, keystore: KeyStore, code: str
) -> None:
    held = [grant("cart:write"), grant("cart:*"), grant("*")]
    site.action("add_to_cart", **CART)
    site.script("/api/add_to_cart", *[error(401, code)] * 3)
    assert refusal(lambda: client.call_action(site.url, "add_to_cart", TEA)).code == code
    assert [grant_of(seen) for seen in site.calls()] == held
    assert dict(keystore.state.ended) == dict.fromkeys(held, code)
    assert client.pending() == []
    assert refusal(lambda: client.call_action(site.url, "add_to_cart", TEA)).code == "grant_required"


def test_what_may_have_arrived_stays_pending_when_the_grant_has_ended_since(
    site: Site, client: AgentClient, grant: Grant
) -> None:
    grant("cart:write")
    site.action("add_to_cart", **CART)
    site.script("/api/add_to_cart", site.act_and_drop, error(401, "grant_revoked"))
    refusal(lambda: client.call_action(site.url, "add_to_cart", TEA))
    assert len(client.pending()) == 1


def test_a_read_stands_for_the_person_when_it_is_asked_to(
    site: Site, client: AgentClient, grant: Grant
) -> None:
    grant("tea:buy", spending=("USD", 500, 1_000))
    plain = grant("notes:read")
    site.action("notes", effect="read", method="GET")
    assert client.call_action(site.url, "notes").grant is None
    assert client.call_action(site.url, "notes", signed=True).grant == plain
    assert [site.is_unsigned(seen) for seen in site.calls()] == [True, False]
    client.keystore.remove_grant(plain)
    # A grant that spends is not shown for what asks for none.
    assert refusal(lambda: client.call_action(site.url, "notes", signed=True)).code == "grant_required"


def test_an_unsigned_read_that_is_refused_says_how_to_sign_it(site: Site, client: AgentClient) -> None:
    site.action("notes", effect="read", method="GET")
    site.script("/api/notes", error(403, "not_allowed"))
    found = refusal(lambda: client.call_action(site.url, "notes"))
    assert "signed=True" in found.message


def test_a_manifest_is_read_under_the_next_grant_when_one_has_ended(
    site: Site, client: AgentClient, grant: Grant, keystore: KeyStore
) -> None:
    narrow, wide = grant("cart:write"), grant("*")
    site.script("/.well-known/agent-actions.json", error(401, "grant_revoked"))
    assert client.discover_actions(site.url, signed=True).site == site.authority
    assert dict(keystore.state.ended) == {narrow: "grant_revoked"}
    assert [grant_of(seen) for seen in site.seen] == [narrow, wide]


def refuse_signed(site: Site, code: str) -> None:
    """Everybody reads the manifest, but nobody does under a grant."""

    def answer(seen: Seen) -> Reply:
        return error(401, code) if "agent-grant" in seen.headers else Reply(200, site.manifest)

    site.script(MANIFEST, *[answer] * 4)


@pytest.mark.parametrize("code", ["grant_revoked", "grant_expired", "grant_used"])
def test_a_misspelt_name_is_one_also_where_the_last_grant_has_ended(
    site: Site, client: AgentClient, grant: Grant, keystore: KeyStore, code: str
) -> None:
    held = grant("cart:write")
    site.action("add_to_cart", **CART)
    refuse_signed(site, code)
    found = refusal(lambda: client.call_action(site.url, "add_to_crat", {}))
    assert (found.code, found.extra["closest"]) == ("action_not_found", ["add_to_cart"])
    assert "Did you mean add_to_cart?" in found.message
    assert (found.extra["grant_refused"], f"is over ({code})" in found.message) == (code, True)
    assert dict(keystore.state.ended) == {held: code}


def test_a_misspelt_flow_is_one_too(site: Site, client: AgentClient, grant: Grant) -> None:
    grant("cart:write")
    refuse_signed(site, "grant_revoked")
    found = refusal(lambda: client.run_flow(site.url, "buy_it"))
    assert (found.code, found.extra["grant_refused"]) == ("not_found", "grant_revoked")


def test_a_refusal_of_another_kind_is_the_sites_word(site: Site, client: AgentClient, grant: Grant) -> None:
    grant("cart:write")
    site.action("add_to_cart", **CART)
    refuse_signed(site, "grant_invalid")
    assert refusal(lambda: client.call_action(site.url, "add_to_crat", {})).code == "grant_invalid"


def test_site_cannot_end_a_grant_that_was_not_shown_to_it(
    site: Site, client: AgentClient, grant: Grant, keystore: KeyStore
) -> None:
    shown = grant("cart:write")
    site.action("add_to_cart", **CART)
    site.script("/api/add_to_cart", error(401, "grant_revoked", grant="gr_" + "A" * 22))
    refusal(lambda: client.call_action(site.url, "add_to_cart", TEA))
    assert dict(keystore.state.ended) == {shown: "grant_revoked"}


def test_one_time_grant_is_used_once(site: Site, client: AgentClient, grant: Grant) -> None:
    once, always = grant("cart:write", one_time=True), grant("cart:write")
    site.action("add_to_cart", **CART)
    used = [client.call_action(site.url, "add_to_cart", TEA).grant for _ in range(2)]
    assert used == [once, always]


def test_one_time_grant_is_not_used_up_by_a_failure_or_a_read(
    site: Site, client: AgentClient, grant: Grant
) -> None:
    once = grant("cart:write", one_time=True)
    site.action("add_to_cart", **CART)
    site.action("look", effect="read", method="GET", scope="cart:write")
    site.script("/api/add_to_cart", error(409, "out_of_stock"))
    client.call_action(site.url, "look")
    refusal(lambda: client.call_action(site.url, "add_to_cart", TEA))
    assert client.call_action(site.url, "add_to_cart", TEA).grant == once


# --- actions that only grants may see ---


def test_action_that_only_a_signed_request_sees_is_found_and_called_signed(
    site: Site, client: AgentClient, grant: Grant
) -> None:
    held = grant("*")
    hidden = {
        **site.manifest,
        "actions": [{"name": "secret", "method": "GET", "path": "/api/s", "effect": "read"}],
    }
    site.script(MANIFEST, Reply(value=site.manifest), Reply(value=hidden))
    result = client.call_action(site.url, "secret")
    unsigned, signed = site.calls(MANIFEST)
    assert site.is_unsigned(unsigned)
    assert site.signer_of(signed) == AGENT.public
    assert result.grant == held
    assert site.signer_of(site.calls()[0]) == AGENT.public


def test_manifest_as_the_agent_sees_it_is_kept_apart_from_the_public_one(
    site: Site, client: AgentClient, grant: Grant
) -> None:
    grant("*")
    hidden = {
        **site.manifest,
        "actions": [{"name": "secret", "method": "GET", "path": "/api/s", "effect": "read"}],
    }
    site.script(MANIFEST, Reply(value=hidden, headers={"ETag": '"signed"'}))
    assert "secret" in client.discover_actions(site.url, signed=True).actions
    assert "secret" not in client.discover_actions(site.url).actions
    assert "if-none-match" not in site.seen[1].headers
    site.script(MANIFEST, Reply(304, body=b""))
    assert "secret" in client.discover_actions(site.url, signed=True).actions
    assert site.seen[2].headers["if-none-match"] == '"signed"'


def test_signed_manifest_needs_a_grant(site: Site, client: AgentClient) -> None:
    assert refusal(lambda: client.discover_actions(site.url, signed=True)).code == "grant_required"
    assert site.seen == []


def test_signed_request_for_a_manifest_is_never_redirected(
    site: Site, client: AgentClient, grant: Grant
) -> None:
    grant("*")
    site.script(MANIFEST, Reply(302, body=b"", headers={"Location": "/elsewhere"}))
    assert refusal(lambda: client.discover_actions(site.url, signed=True)).code == "manifest_invalid"
    assert len(site.seen) == 1


def test_signed_manifest_is_read_with_the_sites_clock(
    site: Site, client: AgentClient, grant: Grant, time: Time
) -> None:
    grant("*")
    site.script(MANIFEST, error(401, "signature_expired", server_time=int(time.now) + 900))
    client.discover_actions(site.url, signed=True)
    assert parsed(site, site.seen[1]).created == int(time.now) + 900


def test_refusal_of_a_signed_manifest_is_the_sites_error(
    site: Site, client: AgentClient, grant: Grant
) -> None:
    grant("*")
    site.script(MANIFEST, error(401, "grant_revoked"))
    assert isinstance(refusal(lambda: client.discover_actions(site.url, signed=True)), SiteError)


# --- what comes back ---


def test_structured_error_keeps_every_member(site: Site, client: AgentClient, grant: Grant) -> None:
    grant("*")
    site.action("add")
    problems = [{"pointer": "/a", "field": "a", "code": "required", "message": "Give it."}]
    site.script(
        "/api/add",
        error(
            422,
            "invalid_input",
            field="a",
            problems=problems,
            request_id="rq_1",
            closest=["b"],
            truncated=True,
        ),
    )
    caught = refusal(lambda: client.call_action(site.url, "add"))
    assert isinstance(caught, SiteError)
    assert (caught.code, caught.status, caught.message) == ("invalid_input", 422, "It is invalid_input.")
    assert (caught.field, caught.problems, caught.request_id) == ("a", problems, "rq_1")
    assert caught.extra == {"closest": ["b"], "truncated": True}
    assert caught.as_dict()["request_id"] == "rq_1"


def test_members_of_an_error_that_have_a_wrong_type_are_dropped() -> None:
    body: Any = {
        "error": {
            "code": "odd",
            "message": "x" * 5_000,
            "field": 5,
            "retry_after": "soon",
            "problems": [1, {"code": "x"}],
            "request_id": [],
            "status": 200,
            "headers": {"a": "b"},
            "debug": "d",
            "self": 1,
        }
    }
    read = SiteError.read(418, body)
    assert read is not None
    assert (read.status, read.field, read.retry_after, read.request_id) == (418, None, None, None)
    assert (len(read.message), read.problems, read.headers) == (2_000, [{"code": "x"}], {})
    assert read.extra == {"status": 200, "headers": {"a": "b"}, "debug": "d", "self": 1}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>Not here</html>",
        b"{}",
        b'{"error":"no"}',
        b'{"error":{}}',
        b'{"error":{"code":"x"}}',
        b'{"error":{"code":5,"message":"x"}}',
        b'{"error":{"code":"Not A Code","message":"x"}}',
        b'{"error":{"code":"x","message":null}}',
        b'{"error":{"code":"x","code":"y","message":""}}',
        b"[1]",
        b"\xff",
    ],
)
@pytest.mark.parametrize("status", [400, 404, 500])
def test_error_that_is_not_structured_is_an_invalid_answer(
    site: Site, client: AgentClient, body: bytes, status: int
) -> None:
    site.action("ping", effect="read", method="GET")
    site.script("/api/ping", Reply(status, body=body))
    caught = refusal(lambda: client.call_action(site.url, "ping"))
    assert (caught.code, caught.extra["http_status"]) == ("response_invalid", status)
    assert len(site.calls()) == 1


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"{", b"NaN", b'{"a":1,"a":2}', b"\xef\xbb\xbf{}", b"1e999", b"[" * 70 + b"]" * 70],
)
def test_success_that_is_not_json_is_an_invalid_answer(site: Site, client: AgentClient, body: bytes) -> None:
    site.action("ping", effect="read", method="GET")
    site.script("/api/ping", Reply(body=body))
    assert refusal(lambda: client.call_action(site.url, "ping")).code == "response_invalid"


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (Reply(204, body=b""), None),
        (Reply(body=b"null"), None),
        (Reply(201, value=[1, "é"]), [1, "é"]),
        (Reply(202, value={"x": "\0"}), {"x": "\0"}),
    ],
)
def test_every_json_value_is_a_result(site: Site, client: AgentClient, reply: Reply, value: Any) -> None:
    site.action("ping", effect="read", method="GET")
    site.script("/api/ping", reply)
    result = client.call_action(site.url, "ping")
    assert (result.value, result.status) == (value, reply.status)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_call_is_never_redirected(site: Site, client: AgentClient, grant: Grant, status: int) -> None:
    grant("*")
    site.action("add")
    site.script("/api/add", Reply(status, body=b"", headers={"Location": "/api/other"}))
    assert refusal(lambda: client.call_action(site.url, "add")).code == "response_invalid"
    assert [seen.path for seen in site.calls()] == ["/api/add"]


def test_answer_without_end_is_refused(
    site: Site, client: AgentClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentweb.client.calls.MAX_ANSWER", 1_000)
    site.action("ping", effect="read", method="GET")
    site.script("/api/ping", Reply(body=b'"' + b"x" * 998 + b'"'), Reply(body=b'"' + b"x" * 999 + b'"'))
    assert len(str(client.call_action(site.url, "ping").value)) == 998
    assert refusal(lambda: client.call_action(site.url, "ping")).code == "response_invalid"


def test_cookies_are_not_kept(site: Site, client: AgentClient) -> None:
    site.action("ping", effect="read", method="GET")
    site.script("/api/ping", Reply(value=1, headers={"Set-Cookie": "id=1; Path=/"}))
    client.call_action(site.url, "ping")
    client.call_action(site.url, "ping")
    assert "cookie" not in site.calls()[1].headers


def test_manifest_is_read_again_when_the_site_no_longer_knows_the_action(
    site: Site, client: AgentClient
) -> None:
    site.action("ping", effect="read", method="GET")
    site.script("/api/ping", error(404, "action_not_found", closest=["pong"]))
    caught = refusal(lambda: client.call_action(site.url, "ping"))
    assert caught.extra["closest"] == ["pong"]
    client.call_action(site.url, "ping")
    assert len(site.calls(MANIFEST)) == 2


def test_request_id_of_the_header_is_kept(site: Site, client: AgentClient) -> None:
    site.action("ping", effect="read", method="GET")
    site.script("/api/ping", Reply(value=1, headers={"X-Request-Id": "rq_2"}))
    assert client.call_action(site.url, "ping").request_id == "rq_2"


def test_result_is_written_as_json_with_exact_numbers(site: Site, client: AgentClient) -> None:
    site.action("price", effect="read", method="GET")
    text = '{"price":19.90,"big":12345678901234567890.123456789,"name":"Tee é"}'
    site.script("/api/price", Reply(200, body=text.encode()))
    result = client.call_action(site.url, "price")
    assert isinstance(result.value, dict)
    assert result.value["price"] == Decimal("19.90")
    written = json.loads(result.json(), parse_float=Decimal)
    assert written == result.value


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda client, url: client.call_action(url, ["add"]), id="action"),
        pytest.param(lambda client, url: client.call_action(url, "add", code=12345678), id="code"),
        pytest.param(lambda client, url: client.call_action(url, "add", idempotency_key=5), id="key"),
        pytest.param(lambda client, url: client.run_flow(url, {"name": "buy"}), id="flow"),
        pytest.param(lambda client, url: client.run_flow(url, "buy", resume=["fr_x"]), id="resume"),
        pytest.param(lambda client, url: client.plan_flow(url, None), id="plan"),
        pytest.param(lambda client, _url: client.confirm(None), id="approval"),
        pytest.param(lambda client, _url: client.deny(5), id="denied"),
        pytest.param(lambda client, url: client.revoke(url, 5), id="grant"),
        pytest.param(lambda client, url: client.refund_state(url, 5), id="refund"),
    ],
)
def test_arguments_that_are_no_texts_are_refused_in_words(
    site: Site, client: AgentClient, call: Callable[[AgentClient, str], object]
) -> None:
    site.action("add")
    site.manifest["flows"] = [{"name": "buy", "steps": [{"action": "add"}]}]
    assert refusal(lambda: call(client, site.url)).code in {"invalid_input", "flow_invalid"}
    assert site.calls() == []
