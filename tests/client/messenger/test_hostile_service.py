"""A service that lies, or stands between two agents: nothing is shown that was not written by whom it names."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from agentweb.client.messenger import Messenger, paging
from agentweb.client.messenger.messages import Message
from agentweb.wire import clock as wire_clock
from agentweb.wire.aim import envelope
from agentweb.wire.aim.keys import encryption_key, key_id, public_of
from agentweb.wire.aim.sealed import seal
from agentweb.wire.encoding import b64url
from agentweb.wire.errors import AgentError
from agentweb.wire.signing import SigningKey
from tests.client.messenger.conftest import Make, Network

pytestmark = pytest.mark.django_db
BOB = "bob@shop.example"
ALICE = "alice@shop.example"
EVE = SigningKey.from_seed(b"e" * 32)
Change = Callable[[dict[str, Any]], Any]


def in_requests(network: Network, change: Change) -> None:
    """Let the service change each message of the requests."""

    def alter(request: Any, answer: Any) -> Any:
        if request.url.path == "/v2/inbox":
            for group in answer["items"]:
                group["messages"] = [change(item) or item for item in group["messages"]]
        return answer

    network.alter = alter


def only(messenger: Messenger) -> Message:
    [message] = messenger.requests().messages
    return message


def set_in(item: dict[str, Any], **members: Any) -> None:
    item["envelope"].update(members)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda item: set_in(item, body="other"), "signature"),
        (lambda item: set_in(item, type="other"), "signature"),
        (lambda item: set_in(item, ts="2026-01-01T00:00:00.000Z"), "signature"),
        (lambda item: set_in(item, reply_to="x" * 16), "signature"),
        (lambda item: set_in(item, id="x" * 16), "signature"),
        (lambda item: set_in(item, sig=b64url(bytes(64))), "signature"),
        (lambda item: set_in(item, to="carol@shop.example"), "recipient"),
        (lambda item: set_in(item, **{"from": "alice@evil.example"}), "authority"),
        (lambda item: set_in(item, **{"from": "nobody@shop.example"}), "unknown_agent"),
        (lambda item: item.update(signed_by=public_of(EVE)), "unknown_key"),
        (lambda item: item.update(envelope=envelope.sign(item["envelope"], EVE)), "signature"),
        (
            lambda item: item.update(
                envelope=envelope.sign(item["envelope"], EVE), signed_by=public_of(EVE)
            ),
            "unknown_key",
        ),
    ],
    ids=[
        "body", "type", "ts", "reply_to", "id", "sig", "to", "other authority", "unknown author", "signed_by",
        "another's signature", "another's signature and key",
    ],
)  # fmt: skip
def test_a_changed_message_is_not_shown(
    alice: Messenger, bob: Messenger, network: Network, change: Change, problem: str
) -> None:
    alice.send(BOB, {"text": "true"})
    assert only(bob).body == {"text": "true"}
    in_requests(network, change)
    message = only(bob)
    assert (message.problem, message.content, message.body) == (problem, None, None)


def test_whoever_can_write_cannot_seal_in_the_name_of_another(
    alice: Messenger, bob: Messenger, network: Network
) -> None:
    alice.send(BOB, "secret", sealed=True)
    bob_key = public_of(bob.keystore.key)

    def forged(item: dict[str, Any]) -> None:
        fields = {**item["envelope"], "type": "message", "body": "pay Eve"}
        box = seal(fields, EVE, bob_key)["body"]
        item["envelope"] = {name: value for name, value in item["envelope"].items() if name != "sig"}
        item["envelope"]["body"] = box

    in_requests(network, forged)
    assert (only(bob).problem, only(bob).body) == ("signature", None)


def test_a_sealed_message_cannot_be_given_another_outside(
    alice: Messenger, bob: Messenger, network: Network
) -> None:
    alice.send(BOB, "secret", sealed=True)

    def moved(item: dict[str, Any]) -> None:
        item["envelope"].pop("sig")
        item["envelope"]["id"] = "x" * 16

    in_requests(network, moved)
    assert only(bob).problem == "members"


def record_with(key: SigningKey, *, keeps: bool) -> Change:
    def change(answer: dict[str, Any]) -> None:
        agent = answer["agent"]
        public = public_of(key)
        agent.update(public_key=public, key_id=key_id(public), encryption_key=encryption_key(public))
        entry = {"key": public, "from": agent["created_at"], "until": None}
        agent["keys"] = [*(agent["keys"] if keeps else []), entry]

    return change


def in_records(network: Network, change: Change) -> None:
    def alter(request: Any, answer: Any) -> Any:
        if request.url.path.startswith("/v2/agents/") and request.method == "GET":
            change(answer)
        return answer

    network.alter = alter


def test_an_agent_whose_keys_were_replaced_is_not_taken_for_the_same(
    alice: Messenger, bob: Messenger, agent: Make, network: Network
) -> None:
    alice.send(BOB, 1)
    assert only(bob).problem is None
    in_records(network, record_with(EVE, keeps=False))
    later = agent("bob")
    assert only(later).problem == "key_changed"
    network.seen.clear()
    with pytest.raises(AgentError) as refused:
        later.send(ALICE, "secret", sealed=True)
    assert refused.value.code == "key_changed"
    assert network.to("/v2/messages") == []
    assert later.outbox() == []


def test_a_new_key_beside_the_old_ones_is_another_of_the_same_agent(
    alice: Messenger, bob: Messenger, agent: Make, network: Network
) -> None:
    alice.send(BOB, 1)
    assert only(bob).problem is None
    in_records(network, record_with(EVE, keeps=True))
    later = agent("bob")
    assert only(later).problem is None
    assert later.agent("alice").key == public_of(EVE)


def test_a_name_that_follows_from_a_key_proves_its_key(agent: Make, bob: Messenger, network: Network) -> None:
    carol = agent("carol")
    carol.send(BOB, 1)
    in_records(network, record_with(EVE, keeps=True))
    assert only(bob).problem == "unknown_key"


@pytest.mark.parametrize("broken", [None, {}, {"id": 1}, []], ids=str)
def test_an_event_that_is_broken_does_not_hold_up_the_next(
    alice: Messenger, bob: Messenger, network: Network, broken: Any
) -> None:
    list(bob.events())
    for number in range(2):
        alice.send(BOB, number)

    def alter(request: Any, answer: Any) -> Any:
        if request.url.path == "/v2/events" and answer["events"]:
            answer["events"][0]["message"] = broken
        return answer

    network.alter = alter
    first, second = bob.events()
    assert (first.message, type(first.data)) == (None, dict)
    assert second.message is not None
    assert second.message.body == 1
    network.alter = None
    assert list(bob.events()) == []


def manifest_with(**members: Any) -> Change:
    return lambda answer: {**answer, **members}


def core_with(intent: str, **members: Any) -> Change:
    def change(answer: dict[str, Any]) -> dict[str, Any]:
        changed = copy.deepcopy(answer)
        for entry in changed["core"]:
            if entry["intent"] == intent:
                entry.update(members)
        return changed

    return change


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(manifest_with(authority="bank.example"), id="another's authority"),
        pytest.param(manifest_with(authority=None), id="no authority"),
        pytest.param(manifest_with(protocol="other"), id="protocol"),
        pytest.param(manifest_with(version="3"), id="version"),
        pytest.param(manifest_with(core=[]), id="empty core"),
        pytest.param(manifest_with(core=None), id="no core"),
        pytest.param(core_with("speak", path="//evil.example/v2/messages"), id="another host"),
        pytest.param(core_with("speak", path="https://evil.example/v2/messages"), id="another URL"),
        pytest.param(core_with("speak", path="/v2/messages?a=1"), id="query"),
        pytest.param(core_with("speak", method="GET"), id="method"),
        pytest.param(core_with("register", path="/elsewhere"), id="register elsewhere"),
        pytest.param(lambda answer: [], id="list"),
    ],
)
def test_a_manifest_of_somebody_else_is_not_believed(agent: Make, network: Network, change: Change) -> None:
    network.alter = lambda request, answer: change(answer) if "well-known" in request.url.path else answer
    with pytest.raises(AgentError) as refused:
        agent("alice").connect("alice")
    assert refused.value.code == "manifest_invalid"
    assert len(network.seen) == 1


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"difficulty": 40}, "work_too_hard"),
        ({"difficulty": -1}, "work_too_hard"),
        ({"difficulty": "4"}, "response_invalid"),
        ({"difficulty": True}, "response_invalid"),
        ({"challenge": "a b"}, "response_invalid"),
        ({"algorithm": "argon2"}, "response_invalid"),
        ({"expires_in": None}, "response_invalid"),
        ({"expires_in": float("nan")}, "response_invalid"),
        ({"expires_in": "nan"}, "response_invalid"),
        ({"expires_in": "inf"}, "response_invalid"),
        ({"expires_in": True}, "response_invalid"),
        ({"expires_in": -1}, "response_invalid"),
    ],
    ids=str,
)
def test_work_that_is_none_is_not_done(
    agent: Make, network: Network, members: dict[str, Any], code: str
) -> None:
    network.alter = lambda request, answer: {**answer, **members} if "challenge" in answer else answer
    with pytest.raises(AgentError) as refused:
        agent("alice").connect("alice")
    assert refused.value.code == code
    assert network.to("/v2/agents/register") == []


@pytest.mark.parametrize(
    "members",
    [{"name": "mallory"}, {"address": "alice@evil.example"}, {"public_key": public_of(EVE)}],
    ids=lambda members: next(iter(members)),
)
def test_a_registration_of_somebody_else_is_not_kept(
    agent: Make, network: Network, members: dict[str, Any]
) -> None:
    def alter(request: Any, answer: Any) -> Any:
        if "register" in request.url.path:
            answer["agent"].update(members)
        return answer

    network.alter = alter
    alice = agent("alice")
    with pytest.raises(AgentError) as refused:
        alice.connect("alice")
    assert refused.value.code == "response_invalid"
    assert alice.identity is None


@pytest.mark.parametrize("members", [{"id": "x" * 16}, {"accepted": False}, {"charged": None}], ids=str)
def test_a_receipt_of_something_else_settles_nothing(
    alice: Messenger, bob: Messenger, network: Network, members: dict[str, Any]
) -> None:
    network.alter = lambda request, answer: {**answer, **members} if "accepted" in answer else answer
    with pytest.raises(AgentError) as refused:
        alice.send(BOB, 1)
    assert refused.value.code == "response_invalid"
    assert len(alice.outbox()) == 1
    network.alter = None
    [outcome] = alice.resume()
    assert outcome.receipt is not None
    assert outcome.receipt.duplicate


@pytest.mark.requirement("AIM-S27.1")
def test_what_an_error_says_to_people_decides_nothing(
    alice: Messenger, bob: Messenger, agent: Make, network: Network
) -> None:
    """Every message is that of another error; the client does what the codes say."""

    def alter(request: Any, answer: Any) -> Any:
        if "error" in answer:
            answer["error"]["message"] = "clock_skew: rate_limited, nonce_reused; retry after 5 seconds."
        return answer

    network.alter = alter
    network.seen.clear()
    with pytest.raises(AgentError) as refused:
        alice.send("nobody@shop.example", 1)
    assert refused.value.code == "unknown_recipient"
    assert len(network.to("/v2/messages")) == 1
    assert alice.outbox() == []
    shift = [0.0]
    from agentweb.wire import clock

    slow = agent("bob", clock=lambda: clock.now() + shift[0])
    slow.inbox()
    shift[0] = 2_000.0
    network.seen.clear()
    slow.inbox()
    assert len(network.to("/v2/inbox")) == 2


@pytest.mark.parametrize("told", ["1767225600", True, -1, 10**12, None], ids=str)
def test_a_time_that_is_none_is_not_believed(
    agent: Make, bob: Messenger, network: Network, told: Any
) -> None:
    shift = [0.0]
    from agentweb.wire import clock

    messenger = agent("bob", clock=lambda: clock.now() + shift[0])
    messenger.inbox()
    shift[0] = 2_000.0

    def alter(request: Any, answer: Any) -> Any:
        if "error" in answer:
            answer["error"]["details"] = {"server_time": told}
        return answer

    network.alter = alter
    network.seen.clear()
    with pytest.raises(AgentError) as refused:
        messenger.inbox()
    assert refused.value.code == "clock_skew"
    assert len(network.to("/v2/inbox")) == 1


def test_a_service_that_never_likes_our_time_is_not_asked_a_third_time(
    agent: Make, bob: Messenger, network: Network
) -> None:
    messenger = agent("bob")
    messenger.inbox()
    refusal = {"code": "clock_skew", "message": "", "details": {"server_time": 1_767_225_600}}
    network.alter = lambda request, answer: {"error": refusal}
    network.status = 401
    network.seen.clear()
    with pytest.raises(AgentError) as refused:
        messenger.inbox()
    assert refused.value.code == "clock_skew"
    assert len(network.to("/v2/inbox")) == 2


def test_a_message_is_sealed_to_the_key_of_today(alice: Messenger, bob: Messenger, network: Network) -> None:
    assert alice.agent("bob").key == public_of(bob.keystore.key)
    in_records(network, record_with(EVE, keeps=True))
    waiting = alice.prepare(BOB, "secret", sealed=True)
    assert json.loads(waiting.envelope)["body"]["to_key"] == public_of(EVE)


def test_no_messenger_is_said_in_words(agent: Make, network: Network) -> None:
    network.alter = lambda request, answer: json.loads("{}")
    with pytest.raises(AgentError) as refused:
        agent("alice").connect()
    assert refused.value.code == "manifest_invalid"


def test_work_is_not_kept_for_longer_than_a_day(agent: Make, network: Network) -> None:
    def alter(request: Any, answer: Any) -> Any:
        if "challenge" in answer:
            return {**answer, "expires_in": 1e300}
        return {"error": {"code": "name_taken", "message": ""}} if "agent" in answer else answer

    network.alter = alter
    network.status = 409
    alice = agent("alice")
    before = wire_clock.now()
    with pytest.raises(AgentError):
        alice.connect("alice")
    network.status = None
    with pytest.raises(AgentError):
        alice.connect("alice")
    work = alice.store.work("shop.example", public_of(alice.keystore.key))
    assert work is None or work.expires <= before + 90_000


def endless(network: Network, path: str, change: Change) -> None:
    """Let the service say at every page of ``path`` that there is another one."""
    count = itertools.count()

    def alter(request: Any, answer: Any) -> Any:
        return {**answer, **change({"count": next(count), **answer})} if request.url.path == path else answer

    network.alter = alter
    network.seen.clear()


ANOTHER: dict[str, Change] = {
    "the same cursor": lambda answer: "AAAA",
    "two cursors": lambda answer: f"AAA{answer['count'] % 2}",
    "always new cursors": lambda answer: f"A{answer['count']:06d}",
}


@pytest.mark.parametrize("another", ANOTHER)
@pytest.mark.parametrize("follow", [False, True])
def test_events_that_never_come_are_not_asked_for_without_end(
    bob: Messenger, network: Network, monkeypatch: pytest.MonkeyPatch, another: str, follow: bool
) -> None:
    monkeypatch.setattr(paging, "EMPTY_PAGES", 5)
    list(bob.events())
    cursor = bob.cursor_now()
    ask = bob._link.call

    def call(method: str, path: str, **given: Any) -> Any:
        given["query"] = {**given["query"], "after": cursor, "wait": None}
        return ask(method, path, **given)

    bob._link.call = call  # type: ignore[method-assign]
    endless(
        network,
        "/v2/events",
        lambda answer: {"events": [], "has_more": True, "cursor": ANOTHER[another](answer)},
    )
    for read in (lambda: bob.events(follow=follow), lambda: bob.events_after(cursor)):
        network.seen.clear()
        with pytest.raises(AgentError) as refused:
            list(read())
        assert refused.value.code == "response_invalid"
        assert len(network.seen) <= 6


def test_the_same_events_again_and_again_are_not_asked_for_without_end(
    alice: Messenger, bob: Messenger, network: Network
) -> None:
    start = bob.cursor_now()
    alice.send(BOB, 1)
    ask = bob._link.call

    def call(method: str, path: str, **given: Any) -> Any:
        if "after" in given.get("query", {}):
            given["query"]["after"] = start
        return ask(method, path, **given)

    bob._link.call = call  # type: ignore[method-assign]
    endless(network, "/v2/events", lambda answer: {"has_more": True, "cursor": "AAAA"})
    with pytest.raises(AgentError) as refused:
        list(bob.events())
    assert refused.value.code == "response_invalid"
    assert len(network.to("/v2/events")) == 2


@contextmanager
def answered(
    bob: Messenger, network: Network, answer: Callable[[httpx.Request, httpx.Response], httpx.Response]
) -> Iterator[Messenger]:
    """Bob, of whose answers some are others: with their own status."""

    class Between(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            response = network.handle_request(request)
            response.read()
            return answer(request, response)

    with httpx.Client(transport=Between()) as http:
        yield Messenger("https://shop.example", bob.keystore, http=http, allow_hosts=["shop.example"])


def refusal(status: int, code: str, **members: Any) -> httpx.Response:
    return httpx.Response(status, json={"error": {"code": code, "message": "", **members}})


def test_a_log_that_is_always_lost_is_not_recovered_without_end(bob: Messenger, network: Network) -> None:
    count = itertools.count()

    def lost(request: httpx.Request, response: httpx.Response) -> httpx.Response:
        if request.url.path != "/v2/events":
            return response
        return refusal(410, "cursor_expired", details={"oldest_cursor": f"A{next(count)}"})

    with answered(bob, network, lost) as reader, pytest.raises(AgentError) as refused:
        list(reader.events())
    assert refused.value.code == "cursor_expired"
    assert next(count) == 4


def test_contacts_that_go_round_are_not_read_without_end(
    alice: Messenger, bob: Messenger, network: Network
) -> None:
    bob.accept("alice")
    ask = bob._link.call
    bob._link.call = lambda method, path, **given: ask(  # type: ignore[method-assign]
        method, path, **{**given, "query": {"limit": 100}}
    )
    endless(network, "/v2/contacts", lambda answer: {"next_cursor": "AAAA"})
    with pytest.raises(AgentError) as refused:
        bob.contacts()
    assert refused.value.code == "response_invalid"
    assert len(network.seen) == 2


def test_a_service_that_wants_to_be_left_alone_for_months_is_asked_again_within_an_hour(
    agent: Make, bob: Messenger, network: Network
) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        alice = agent("alice")
        alice.connect("alice")
        alice.send(BOB, "at last")

    limit = {"code": "rate_limited", "message": "", "retry_after": 10_000_000}
    later = agent("bob", sleep=pause)
    network.refusals["/v2/events"] = httpx.Response(429, json={"error": limit})
    later._link._service = bob.service
    event = next(later.events(follow=True))
    assert event.message is not None
    assert event.message.body == "at last"
    assert pauses == [3_600]


BROKEN: list[Any] = [None, {}, [], 1, "x", {"envelope": None}, {"envelope": {"id": 1}}, {"messages": [None]}]


@pytest.mark.parametrize("broken", BROKEN, ids=str)
@pytest.mark.parametrize("lane", ["inbox", "requests"])
def test_an_entry_that_is_no_message_does_not_keep_the_others_from_being_read(
    alice: Messenger, bob: Messenger, network: Network, broken: Any, lane: str
) -> None:
    alice.send(BOB, 1)
    if lane == "inbox":
        bob.accept("alice")

    def alter(request: Any, answer: Any) -> Any:
        if request.url.path == "/v2/inbox":
            answer["items"].insert(0, broken)
        return answer

    network.alter = alter
    page = bob.inbox() if lane == "inbox" else bob.requests()
    assert ([message.body for message in page.messages], page.unreadable) == ([1], 1)


def test_after_a_gap_what_is_no_message_is_told_and_the_rest_is_read(
    alice: Messenger, bob: Messenger, network: Network
) -> None:
    alice.send(BOB, 1)
    bob.accept("alice")
    is_lost = [True]

    def changed(request: httpx.Request, response: httpx.Response) -> httpx.Response:
        found = response.json()
        if request.url.path == "/v2/events" and is_lost:
            is_lost.clear()
            return refusal(410, "cursor_expired", details={"oldest_cursor": found["cursor"]})
        if request.url.path == "/v2/inbox" and found["items"]:
            found["items"].append({"envelope": 1})
        return httpx.Response(response.status_code, json=found)

    with answered(bob, network, changed) as reader:
        gap, message, broken = reader.events()
    assert gap.type == "gap"
    assert message.message is not None
    assert (message.message.body, broken.message) == (1, None)
    assert broken.data == {"problem": "1 of the inbox are no messages."}


def test_an_author_whom_the_service_does_not_tell_of_does_not_keep_the_others_from_being_read(
    alice: Messenger, bob: Messenger, agent: Make, network: Network
) -> None:
    alice.send(BOB, 1)
    carol = agent("carol")
    carol.connect("carol")
    carol.send(BOB, 2)

    def hidden(request: httpx.Request, response: httpx.Response) -> httpx.Response:
        return refusal(403, "forbidden") if request.url.path == "/v2/agents/alice" else response

    with answered(bob, network, hidden) as reader:
        found = reader.requests().messages
    assert [(message.body, message.problem) for message in found] == [(2, None), (None, "unknown_agent")]


def test_a_place_that_is_none_is_said_to_be(bob: Messenger, network: Network) -> None:
    for answer in (None, [], {}, {"cursor": 1}):
        network.alter = lambda request, _given, answer=answer: answer
        with pytest.raises(AgentError) as refused:
            bob.cursor_now()
        assert refused.value.code == "response_invalid"
