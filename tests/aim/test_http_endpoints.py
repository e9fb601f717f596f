"""The messenger's endpoints over HTTP. What they answer is held to the OpenAPI document by ``wire.send``."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentweb.aim.models import LogHead, Message
from agentweb.wire.aim import envelope, sealed
from agentweb.wire.canonical import canonicalize
from agentweb.wire.encoding import b64url
from tests.aim.wire import Speaker, code, encoded, error, registered, send

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("easy_work")]

MESSAGES = "/v2/messages"


@pytest.fixture
def alice() -> Speaker:
    return registered("alice")


@pytest.fixture
def bob() -> Speaker:
    return registered("bob")


# -- sending


@pytest.mark.requirement("AIM-S6.1", "AIM-S28.2")
def test_a_message_is_accepted_and_read_as_it_was_signed(alice: Speaker, bob: Speaker) -> None:
    written = alice.write(bob, {"text": "héllo \u2028 😀", "n": [1.5, -0.0, 1e21]})
    response = alice.post(MESSAGES, written)
    assert response.status_code == 202
    receipt = response.json()
    assert (receipt["id"], receipt["accepted"], receipt["duplicate"], receipt["charged"]) == (
        written["id"],
        True,
        False,
        1,
    )
    text = envelope.read(envelope.parse_request(encoded(written))).text
    for target in ("/v2/inbox?lane=requests", "/v2/events", f"{MESSAGES}/{written['id']}?in={alice.address}"):
        assert text.encode() in bob.get(target).content


def test_a_duplicate_is_answered_like_the_first_time(alice: Speaker, bob: Speaker) -> None:
    written = alice.write(bob)
    first = alice.post(MESSAGES, written).json()
    again = alice.post(MESSAGES, written)
    assert again.status_code == 202
    assert again.json() == {**first, "duplicate": True, "charged": 0}


def signed(speaker: Speaker, **changes: Any) -> dict[str, Any]:
    """An envelope with members that our own code would not write, well signed all the same."""

    fields = {**envelope.compose(speaker.address, "bob@shop.example", "hi"), **changes}
    fields = {name: value for name, value in fields.items() if value is not ...}
    return {**fields, "sig": b64url(speaker.signer.sign(hashlib.sha256(canonicalize(fields)).digest()))}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"body": None}, (422, "invalid_envelope")),
        ({"id": "short"}, (422, "invalid_envelope")),
        ({"ts": "yesterday"}, (422, "invalid_envelope")),
        ({"type": ...}, (422, "invalid_envelope")),
        ({"mood": "good"}, (422, "unknown_field")),
        ({"to": "Bob@shop.example"}, (422, "invalid_address")),
        ({"to": "bob@elsewhere.example"}, (422, "remote_authority")),
        ({"to": "nobody@shop.example"}, (404, "unknown_recipient")),
        ({"to": "board:some-community"}, (404, "unknown_community")),
        ({"type": "aim.notice"}, (422, "reserved_type")),
        ({"ts": "2020-01-01T00:00:00.000Z"}, (422, "ts_out_of_range")),
        ({"ts": "2999-01-01T00:00:00.000Z"}, (422, "ts_out_of_range")),
        ({"from": "bob@shop.example"}, (403, "author_mismatch")),
        ({"reply_to": "m" * 20}, (422, "unknown_reply_target")),
        ({"thread_id": "m" * 20}, (422, "thread_mismatch")),
        ({"body": nested(32)}, (400, "too_deep")),
        ({"body": "x" * 65_536}, (413, "too_large")),
        ({"type": "sealed", "to": "board:some-community", "body": {}}, (422, "invalid_envelope")),
    ],
)
def test_each_refusal_of_a_message_has_its_status(
    alice: Speaker, bob: Speaker, changes: dict[str, Any], expected: tuple[int, str]
) -> None:
    written = signed(alice, **changes)
    assert code(alice.post(MESSAGES, written)) == expected
    result = alice.post(MESSAGES, {"messages": [written]})
    assert result.status_code == 207
    [item] = result.json()["results"]
    assert (item["status"], item["error"]["code"], item["accepted"]) == (*expected, False)
    assert not Message.objects.exists()


def test_the_refusals_that_depend_on_others_have_their_status_too(alice: Speaker, bob: Speaker) -> None:
    written = alice.write(bob)
    assert alice.post(MESSAGES, written).status_code == 202
    other = alice.write(bob, "another", id=written["id"])
    assert code(alice.post(MESSAGES, other)) == (409, "id_reused")
    assert code(bob.post(MESSAGES, bob.write(alice, id=written["id"]))) == (409, "id_conflict")
    spoilt = {**alice.write(bob), "body": "changed"}
    assert code(alice.post(MESSAGES, spoilt)) == (422, "bad_envelope_signature")
    board = {"alg": "x25519-sealedbox-1", "to_key": bob.key, "ct": "A" * 64}
    sealed_board = signed(alice, type="sealed", to="board:some-community", body=board)
    assert code(alice.post(MESSAGES, sealed_board)) == (422, "sealed_not_allowed")
    stale = sealed.seal(
        envelope.compose(alice.address, bob.address, "secret"), alice.signer, Speaker("carol").key
    )
    assert code(alice.post(MESSAGES, stale)) == (409, "recipient_key_changed")
    assert bob.ask("PATCH", "/v2/agents/me", {"dm_policy": "closed"}).status_code == 200
    assert code(alice.send(bob)) == (403, "recipient_not_accepting")


@pytest.mark.requirement("AIM-S19.1", "AIM-S19.2")
def test_a_batch_has_1_to_20_messages_and_nothing_else(alice: Speaker) -> None:
    many = [alice.write(alice, number) for number in range(21)]
    assert code(alice.post(MESSAGES, {"messages": many})) == (413, "batch_too_large")
    assert code(alice.post(MESSAGES, {"messages": []})) == (422, "invalid_input")
    response = alice.post(MESSAGES, {"messages": "x", "a": 1, "b": 2})
    assert code(response) == (422, "invalid_input")
    assert len(error(response)["problems"]) == 3
    assert not Message.objects.exists()
    response = alice.post(MESSAGES, {"messages": many[:20]})
    assert response.status_code == 202
    assert (response.json()["accepted"], response.json()["failed"]) == (20, 0)
    assert [each["id"] for each in response.json()["results"]] == [each["id"] for each in many[:20]]


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"1", b'"x"', b"{}"])
def test_what_is_no_envelope_says_so(alice: Speaker, body: bytes) -> None:
    assert code(alice.post(MESSAGES, body)) == (422, "invalid_envelope")


@pytest.mark.requirement("AIM-S16.2")
def test_a_good_envelope_in_an_unsigned_request_is_refused(
    alice: Speaker, bob: Speaker, client: Client
) -> None:
    assert code(send(client, "POST", MESSAGES, encoded(alice.write(bob)))) == (401, "authorization_required")
    assert not Message.objects.exists()


@pytest.mark.requirement("AIM-S16.3")
def test_the_two_signatures_do_not_stand_in_for_each_other(alice: Speaker, bob: Speaker) -> None:
    written = alice.write(bob)
    body = encoded(written)
    good = alice.header("POST", MESSAGES, body)
    of_request = good.split('sig="')[1].rstrip('"')
    spoilt = good.replace(of_request, written["sig"])
    assert code(send(alice.client, "POST", MESSAGES, body, spoilt)) == (401, "bad_signature")
    assert code(alice.post(MESSAGES, {**written, "sig": of_request})) == (422, "bad_envelope_signature")


# -- reading


@pytest.mark.requirement("AIM-S5.1", "AIM-S5.2", "AIM-S16.4", "AIM-S10.1", "AIM-S10.3")
def test_strangers_wait_among_the_requests_until_they_are_accepted(alice: Speaker, bob: Speaker) -> None:
    written = alice.write(bob)
    alice.post(MESSAGES, written)
    assert bob.get("/v2/inbox").json() == {"items": [], "next_cursor": None, "counts": {"requests": 1}}
    [group] = bob.get("/v2/inbox?lane=requests").json()["items"]
    assert (group["sender"], group["count"]) == (alice.address, 1)
    contact = bob.ask("PUT", "/v2/contacts/alice", {"state": "accepted"}).json()["contact"]
    assert (contact["name"], contact["state"]) == ("alice", "accepted")
    [item] = bob.get("/v2/inbox").json()["items"]
    assert (item["envelope"], item["lane"]) == (written, "primary")
    assert [each["name"] for each in bob.get("/v2/contacts?state=accepted").json()["items"]] == ["alice"]
    assert bob.ask("DELETE", "/v2/contacts/alice").json() == {"removed": True}
    assert bob.ask("DELETE", "/v2/contacts/alice").json() == {"removed": False}
    assert bob.get("/v2/inbox").json()["counts"] == {"requests": 1}


def test_changes_of_contacts_are_limited(alice: Speaker, bob: Speaker, settings: Any) -> None:
    """Each may write an event, which stays."""
    settings.AGENTWEB = {**settings.AGENTWEB, "CONTACT_CHANGES_PER_HOUR": 3}
    states = ("accepted", "blocked", "accepted", "blocked")
    answers = [bob.ask("PUT", "/v2/contacts/alice", {"state": state}) for state in states]
    answers.append(bob.ask("DELETE", "/v2/contacts/alice"))
    assert [each.status_code for each in answers] == [200, 200, 200, 429, 429]
    assert '"contact-changes";q=3;w=3600' in answers[0]["RateLimit-Policy"]
    assert 1 <= error(answers[-1])["retry_after"] <= 1_200
    assert [each["type"] for each in bob.get("/v2/events").json()["events"]] == [
        "contact.accepted",
        "contact.blocked",
        "contact.accepted",
    ]
    assert alice.ask("PUT", "/v2/contacts/bob", {"state": "accepted"}).status_code == 200


@pytest.mark.parametrize("party", ["alice", "alice@shop.example"])
def test_a_conversation_has_both_directions(alice: Speaker, bob: Speaker, party: str) -> None:
    sent = [alice.write(bob, 1), bob.write(alice, 2)]
    alice.post(MESSAGES, sent[0])
    bob.post(MESSAGES, sent[1])
    items = bob.get(f"/v2/inbox?with={party}").json()["items"]
    assert [item["envelope"] for item in items] == sent[::-1]


@pytest.mark.requirement("AIM-S14.4", "AIM-S14.5", "AIM-S20.2", "AIM-S21.1")
def test_a_thread_is_read_page_by_page(alice: Speaker, bob: Speaker) -> None:
    first = alice.write(bob)
    alice.post(MESSAGES, first)
    replies = [bob.write(alice, number, reply_to=first["id"], thread_id=first["id"]) for number in range(4)]
    assert bob.post(MESSAGES, {"messages": replies}).status_code == 202
    found: list[Any] = []
    cursor = ""
    while cursor is not None:
        page = alice.get(f"/v2/threads/{first['id']}?in={bob.address}&limit=2{cursor}").json()
        found += [item["envelope"] for item in page["items"]]
        cursor = f"&cursor={page['next_cursor']}" if page["next_cursor"] else None  # type: ignore[assignment]
    assert found == [first, *replies]


def test_an_author_removes_a_message_and_nobody_else_does(alice: Speaker, bob: Speaker) -> None:
    written = alice.write(bob)
    alice.post(MESSAGES, written)
    place = f"{MESSAGES}/{written['id']}"
    assert code(bob.ask("DELETE", f"{place}?in={alice.address}")) == (403, "author_mismatch")
    for _ in range(2):
        tombstone = alice.ask("DELETE", f"{place}?in={bob.address}").json()["tombstone"]
        assert (tombstone["id"], tombstone["removed"]["by"]) == (written["id"], "author")
    assert bob.get(f"{place}?in={alice.address}").json()["tombstone"]["from"] == alice.address
    assert code(registered("carol").get(f"{place}?in={alice.address}")) == (404, "not_found")


def test_a_message_that_was_left_out_is_said_to_be(alice: Speaker) -> None:
    refused = alice.post(MESSAGES, None)
    assert code(refused) == (422, "invalid_envelope")
    assert refused.json()["error"]["message"].startswith("The request has no body")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/v2/inbox?lane=other", (400, "invalid_parameter")),
        ("/v2/inbox?limit=0", (400, "invalid_parameter")),
        ("/v2/inbox?limit=101", (400, "invalid_parameter")),
        ("/v2/inbox?limit=x", (400, "invalid_parameter")),
        ("/v2/inbox?limit=1&limit=2", (400, "invalid_parameter")),
        ("/v2/inbox?lanes=primary", (400, "invalid_parameter")),
        ("/v2/inbox?lane=primary&with=bob", (400, "invalid_parameter")),
        ("/v2/inbox?with=nobody-here", (404, "not_found")),
        ("/v2/inbox?with=bob%40elsewhere.example", (422, "remote_authority")),
        ("/v2/inbox?cursor=garbage", (400, "invalid_cursor")),
        ("/v2/inbox?cursor=", (400, "invalid_cursor")),
        ("/v2/events?after=garbage", (400, "invalid_cursor")),
        ("/v2/events?after=", (400, "invalid_cursor")),
        ("/v2/events?wait=26", (400, "invalid_parameter")),
        ("/v2/events?wait=-1", (400, "invalid_parameter")),
        ("/v2/events?types=bogus", (400, "invalid_parameter")),
        ("/v2/events?types=,", (400, "invalid_parameter")),
        ("/v2/messages/m0123456789abcdef", (400, "invalid_parameter")),
        ("/v2/messages/m0123456789abcdef?in=x", (400, "invalid_parameter")),
        ("/v2/messages/m0123456789abcdef?in=bob@shop.example", (404, "not_found")),
        ("/v2/messages/m0123456789abcdef?in=board:abc", (404, "unknown_community")),
        ("/v2/threads/m0123456789abcdef?in=bob@shop.example", (404, "not_found")),
        ("/v2/contacts?state=friend", (400, "invalid_parameter")),
        ("/v2/agents/nobody-here", (404, "not_found")),
        ("/v2/agents/%00", (400, "invalid_unicode")),
        ("/v2/inbox?access_token=abc", (400, "token_in_url")),
    ],
)
def test_each_refusal_of_a_read_has_its_status(
    alice: Speaker, bob: Speaker, target: str, expected: tuple[int, str]
) -> None:
    assert code(alice.get(target)) == expected


def test_every_problem_of_a_query_is_listed(alice: Speaker) -> None:
    problems = error(alice.get("/v2/inbox?lane=x&limit=y&more=z"))["problems"]
    assert sorted((each["field"], each["in"]) for each in problems) == [
        ("lane", "query"),
        ("limit", "query"),
        ("more", "query"),
    ]


# -- events


@pytest.mark.requirement("AIM-S7.1")
def test_events_come_after_the_cursor_each_once_and_in_order(alice: Speaker, bob: Speaker) -> None:
    written = [alice.write(bob, number) for number in range(3)]
    alice.post(MESSAGES, {"messages": written})
    seen, after, has_more = [], "", True
    while has_more:
        page = bob.get(f"/v2/events?limit=2{after}").json()
        seen += [event["message"] for event in page["events"]]
        after, has_more = f"&after={page['cursor']}", page["has_more"]
    assert seen == written
    assert bob.get(f"/v2/events?limit=2{after}").json()["events"] == []


@pytest.mark.requirement("AIM-S21.4")
def test_a_cursor_that_is_too_old_or_of_another_log_is_refused(alice: Speaker) -> None:
    page = alice.get("/v2/events").json()
    alice.send(alice)
    alice.send(alice)
    LogHead.objects.update(floor=1)
    response = alice.get(f"/v2/events?after={page['cursor']}")
    assert code(response) == (410, "cursor_expired")
    assert set(error(response)["details"]) == {"oldest_cursor", "latest_cursor", "retention_days"}
    again = alice.get(f"/v2/events?after={error(response)['details']['oldest_cursor']}")
    assert len(again.json()["events"]) == 1
    cursor = again.json()["cursor"]
    LogHead.objects.update(epoch="00" * 8)
    assert code(alice.get(f"/v2/events?after={cursor}")) == (409, "cursor_future")


# -- the agent itself


def test_an_agent_sees_itself(alice: Speaker) -> None:
    alice.send(alice)
    record = alice.get("/v2/agents/me").json()["agent"]
    assert (record["address"], record["dm_policy"], record["quotas"]["charged"]) == (
        alice.address,
        "requests",
        1,
    )
    assert [key["key"] for key in record["keys"]] == [alice.key]


@pytest.mark.parametrize(
    "document", [{}, {"dm_policy": "nobody"}, {"dm_policy": "closed", "name": "x"}, [], "x"]
)
def test_a_change_that_is_none_is_invalid_input(alice: Speaker, document: Any) -> None:
    assert code(alice.ask("PATCH", "/v2/agents/me", document)) == (422, "invalid_input")


@pytest.mark.parametrize(
    "document", [{}, {"confirm": "alice"}, {"confirm": "bob@shop.example"}, {"confirm": 1}, None]
)
def test_an_agent_is_deleted_only_with_its_address(alice: Speaker, document: Any) -> None:
    assert code(alice.ask("DELETE", "/v2/agents/me", document)) == (422, "invalid_input")
    assert alice.get("/v2/agents/me").json()["agent"]["status"] == "active"


@pytest.mark.parametrize(
    ("name", "document", "expected"),
    [
        ("bob", {"state": "friend"}, (422, "invalid_input")),
        ("bob", {}, (422, "invalid_input")),
        ("alice", {"state": "accepted"}, (422, "invalid_input")),
        ("nobody-here", {"state": "accepted"}, (404, "not_found")),
    ],
)
def test_each_refusal_of_a_contact_has_its_status(
    alice: Speaker, bob: Speaker, name: str, document: Any, expected: tuple[int, str]
) -> None:
    assert code(alice.ask("PUT", f"/v2/contacts/{name}", document)) == expected


def test_a_deleted_agent_cannot_be_accepted(alice: Speaker, bob: Speaker) -> None:
    bob.ask("DELETE", "/v2/agents/me", {"confirm": bob.address})
    assert code(alice.ask("PUT", "/v2/contacts/bob", {"state": "accepted"})) == (410, "agent_deleted")


@pytest.mark.requirement("AIM-S1.4")
def test_no_cookie_and_no_page_is_involved(alice: Speaker) -> None:
    for target in ("/v2/inbox", "/v2/agents/me", "/v2/policy", "/docs/authentication.md"):
        response = alice.get(target)
        assert not response.cookies
        assert "text/html" not in response["Content-Type"]
    with_csrf = Client(enforce_csrf_checks=True)
    body = encoded(alice.write(alice))
    assert send(with_csrf, "POST", MESSAGES, body, alice.header("POST", MESSAGES, body)).status_code == 202


# -- what it costs


@pytest.mark.parametrize(
    ("method", "target", "most"),
    [
        ("GET", "/v2/inbox", 7),
        ("GET", "/v2/inbox?lane=requests", 8),
        ("GET", "/v2/inbox?with=bob", 7),
        ("GET", "/v2/events", 6),
        ("GET", "/v2/events?after=now", 6),
        ("GET", "/v2/contacts", 6),
        ("GET", "/v2/agents/me", 7),
        ("GET", "/v2/threads/m0123456789abcdef?in=bob@shop.example", 7),
        ("GET", "/v2/messages/m0123456789abcdef?in=bob@shop.example", 7),
    ],
)
def test_a_request_costs_few_queries_however_much_there_is(
    alice: Speaker, bob: Speaker, method: str, target: str, most: int
) -> None:
    for count in (1, 8):
        for _ in range(count):
            bob.post(MESSAGES, bob.write(bob))
        alice.ask(method, target)
        with CaptureQueriesContext(connection) as captured:
            alice.ask(method, target)
        # Among them: the key, a savepoint or transaction with the limit and the nonce, and its end.
        assert len(captured) <= most, [query["sql"] for query in captured.captured_queries]


def test_public_documents_cost_no_query(client: Client) -> None:
    for target in ("/.well-known/aim.json", "/openapi.json", "/docs/authentication.md", "/v2/policy"):
        client.get(target)
        with CaptureQueriesContext(connection) as captured:
            assert client.get(target).status_code == 200
        assert len(captured) == 0


def test_a_batch_of_twenty_costs_as_many_queries_as_one(alice: Speaker) -> None:
    alice.send(alice)
    costs = []
    for count in (1, 20):
        written = {"messages": [alice.write(alice, number) for number in range(count)]}
        with CaptureQueriesContext(connection) as captured:
            assert alice.post(MESSAGES, written).status_code == 202
        costs.append(len(captured))
    assert costs[0] == costs[1]
