"""Two agents at the package's own site: both ends of the wire agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentweb.aim.models import Account, Agent, Message
from agentweb.client.errors import SiteError, UnreachableError
from agentweb.client.messenger import Messenger
from agentweb.testing.clocks import Clock
from agentweb.wire import clock as wire_clock
from agentweb.wire.aim.authorization import parse_header
from agentweb.wire.aim.names import key_name
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import b64url
from agentweb.wire.errors import AgentError, ClientError, InputError
from tests.client.messenger.conftest import Make, Network

pytestmark = pytest.mark.django_db
BOB = "bob@shop.example"


def refusal(error: type[AgentError] = AgentError) -> Any:
    return pytest.raises(error)


@pytest.mark.requirement("AIM-S9.8", "AIM-S9.3")
def test_connecting_makes_an_agent_and_nothing_else(agent: Make, network: Network) -> None:
    told: list[tuple[int, int]] = []
    identity = agent("alice").connect("alice", progress=lambda *so_far: told.append(so_far))
    assert identity.address == "alice@shop.example"
    assert told[-1] == (16, 16)
    assert [(request.method, request.url.path) for request in network.seen] == [
        ("GET", "/.well-known/aim.json"),
        ("POST", "/v2/challenges"),
        ("POST", "/v2/agents/register"),
    ]
    assert not Message.objects.exists()


def test_without_a_name_the_agent_has_that_of_its_key(agent: Make) -> None:
    messenger = agent("carol")
    identity = messenger.connect()
    assert identity.name == key_name(messenger.keystore.key.public.removeprefix("ed25519:"))


@pytest.mark.requirement("AIM-S9.2", "AIM-S4.3")
def test_connecting_again_is_the_same_agent_and_needs_no_work(agent: Make, network: Network) -> None:
    first = agent("alice").connect("alice")
    network.seen.clear()
    again = agent("alice")  # another run with the same files
    assert again.identity == first
    assert again.connect() == again.connect("alice") == first
    assert network.to("/v2/challenges") == []
    assert Agent.objects.count() == 1


def test_an_agent_whose_answer_was_lost_finds_that_it_is_registered(agent: Make, network: Network) -> None:
    messenger = agent("alice", attempts=1)
    network.alter = lambda request, found: found if "register" not in request.url.path else {"lost": True}
    with refusal(ClientError) as refused:
        messenger.connect("alice")
    assert refused.value.code == "response_invalid"
    network.alter = None
    assert messenger.connect("alice").name == "alice"
    assert Agent.objects.count() == 1


def test_a_taken_name_costs_no_second_proof_of_work(alice: Messenger, agent: Make, network: Network) -> None:
    dora = agent("dora")
    network.seen.clear()
    with refusal(SiteError) as refused:
        dora.connect("alice")
    assert refused.value.code == "name_taken"
    assert agent("dora").connect("dora").name == "dora"
    assert len(network.to("/v2/challenges")) == 1


def test_a_challenge_that_is_over_is_replaced(agent: Make, network: Network, time: Clock) -> None:
    dora = agent("dora")
    with refusal(SiteError):
        dora.connect("root")
    time.forward(700)
    network.seen.clear()
    assert dora.connect("dora").name == "dora"
    assert len(network.to("/v2/challenges")) == len(network.to("/v2/agents/register")) == 1


def test_a_key_has_one_name(alice: Messenger) -> None:
    with refusal(SiteError) as refused:
        alice.connect("alicia")
    assert refused.value.code == "key_already_registered"
    assert alice.identity is not None
    assert alice.identity.name == "alice"


@pytest.mark.requirement("AIM-S9.5", "AIM-S1.2", "AIM-S10.1")
def test_sending_connects_first_when_need_be(agent: Make, bob: Messenger) -> None:
    receipt = agent("carol").send(BOB, {"text": "hello"})
    assert (receipt.duplicate, receipt.charged) == (False, 1)
    [message] = bob.requests().messages
    assert message.body == {"text": "hello"}
    assert message.sender.startswith("k-")
    assert (message.problem, message.lane) == (None, "requests")


@pytest.mark.requirement("AIM-S9.4", "AIM-S5.1", "AIM-S5.2", "AIM-S6.1", "AIM-S6.2", "AIM-S14.4", "AIM-S14.5")
def test_a_conversation_from_the_request_to_the_thread(alice: Messenger, bob: Messenger) -> None:
    first = alice.send(BOB, {"text": "hello"})
    assert bob.inbox().messages == ()
    assert bob.inbox().requests == 1
    bob.accept("alice")
    [message] = bob.inbox().messages
    assert (message.id, message.sender, message.is_own) == (first.id, "alice@shop.example", False)
    answer = bob.send(message.sender, ["yes"], reply_to=message.id, thread_id=message.id, type="note")
    [reply] = alice.inbox().messages
    assert (reply.body, reply.type) == (["yes"], "note")
    assert (reply.envelope.reply_to, reply.envelope.thread_id) == (first.id, first.id)
    assert [each.id for each in bob.conversation("alice").messages] == [answer.id, first.id]
    assert [each.is_own for each in bob.conversation("alice@shop.example").messages] == [True, False]
    assert [each.id for each in alice.thread(first.id, "bob").messages] == [first.id, answer.id]
    assert [contact["name"] for contact in bob.contacts()] == ["alice"]


def test_blocking_and_forgetting(alice: Messenger, bob: Messenger) -> None:
    bob.block("alice")
    with refusal(SiteError) as refused:
        alice.send(BOB, 1)
    assert refused.value.code == "recipient_not_accepting"
    assert alice.outbox() == []
    bob.forget("alice@shop.example")
    assert alice.send(BOB, 1).charged == 1


@pytest.mark.requirement("AIM-S17.5")
def test_every_call_is_a_message_of_its_own(alice: Messenger, bob: Messenger) -> None:
    assert alice.send(BOB, "same").id != alice.send(BOB, "same").id
    assert Message.objects.count() == 2


@pytest.mark.requirement("AIM-S23.1")
def test_a_sealed_message_is_readable_for_its_recipient_only(alice: Messenger, bob: Messenger) -> None:
    alice.send(BOB, {"text": "secret"}, sealed=True, type="note")
    assert "secret" not in Message.objects.get().envelope
    [message] = bob.requests().messages
    assert (message.body, message.type, message.is_sealed, message.problem) == (
        {"text": "secret"}, "note", True, None
    )  # fmt: skip
    [own] = alice.conversation("bob").messages
    assert (own.body, own.content, own.problem, own.is_own) == (None, None, None, True)


@pytest.mark.requirement("AIM-S17.2", "AIM-S17.3", "AIM-S17.4", "AIM-S13.2", "AIM-S27.3")
def test_a_lost_answer_is_asked_for_with_the_same_bytes_and_a_new_signature(
    alice: Messenger, bob: Messenger, network: Network
) -> None:
    network.lose = 2
    receipt = alice.send(BOB, "once")
    assert (receipt.duplicate, receipt.charged) == (True, 0)
    sent = network.to("/v2/messages")
    assert len(sent) == 3
    assert len({request.content for request in sent}) == 1
    signed = [parse_header(request.headers["authorization"]) for request in sent]
    assert len({each.nonce for each in signed}) == len({each.sig for each in signed}) == 3
    assert Message.objects.count() == 1
    assert Account.objects.get(agent__name="alice").charged == 1
    assert alice.outbox() == []


@pytest.mark.requirement("AIM-S17.1", "AIM-S17.2")
def test_what_got_no_answer_stays_on_the_disk_and_is_resumed_by_another_run(
    agent: Make, bob: Messenger, network: Network
) -> None:
    alice = agent("alice", attempts=2)
    alice.connect("alice")
    network.refuse, network.seen = 1, []
    network.lose = 1
    with refusal(UnreachableError):
        alice.send(BOB, "kept")
    [kept] = agent("alice").outbox()
    [outcome] = agent("alice").resume()
    assert outcome.receipt is not None
    assert (outcome.id, outcome.receipt.duplicate) == (kept.id, True)
    assert {request.content for request in network.to("/v2/messages")} == {kept.envelope.encode()}
    assert agent("alice").outbox() == []
    assert Message.objects.get().message_id == kept.id


def test_a_proxy_that_answers_for_a_service_that_is_away_decides_nothing(
    agent: Make, bob: Messenger, network: Network
) -> None:
    alice = agent("alice", attempts=2)
    alice.connect("alice")
    network.proxied = 1
    assert alice.send(BOB, 1).charged == 1
    network.proxied = 2
    with refusal(UnreachableError):
        alice.send(BOB, 2)
    assert [outcome.error for outcome in alice.resume()] == [None]


@pytest.mark.requirement("AIM-S9.9")
def test_a_prepared_message_is_kept_and_not_sent(alice: Messenger, bob: Messenger, network: Network) -> None:
    network.seen.clear()
    waiting = alice.prepare(BOB, {"text": "later"})
    assert network.seen == []
    assert [each.id for each in alice.outbox()] == [waiting.id]
    assert [outcome.error for outcome in alice.resume()] == [None]
    assert [message.body for message in bob.requests().messages] == [{"text": "later"}]


def test_preparing_needs_an_address_and_asks_nobody_for_one(agent: Make, network: Network) -> None:
    with refusal(ClientError) as refused:
        agent("alice").prepare(BOB, 1)
    assert refused.value.code == "not_connected"
    assert network.seen == []


def test_what_is_no_message_is_refused_before_it_is_kept(alice: Messenger, network: Network) -> None:
    network.seen.clear()
    for to, body in ((BOB, None), ("Bob@shop.example", 1), (BOB, "x" * 70_000), (BOB, float("nan"))):
        with refusal(InputError):
            alice.send(to, body)
    assert network.seen == []
    assert alice.outbox() == []


ELSEWHERE = "bob@other.example"


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda agent: agent.send(ELSEWHERE, 1), id="send"),
        pytest.param(lambda agent: agent.send(ELSEWHERE, 1, sealed=True), id="seal"),
        pytest.param(lambda agent: agent.prepare(ELSEWHERE, 1), id="prepare"),
        pytest.param(lambda agent: agent.accept(ELSEWHERE), id="accept"),
        pytest.param(lambda agent: agent.block(ELSEWHERE), id="block"),
        pytest.param(lambda agent: agent.forget(ELSEWHERE), id="forget"),
        pytest.param(lambda agent: agent.agent(ELSEWHERE), id="agent"),
    ],
)
def test_somebody_at_another_service_is_not_taken_for_one_of_that_name_here(
    alice: Messenger, bob: Messenger, network: Network, call: Callable[[Messenger], object]
) -> None:
    network.seen.clear()
    with refusal(ClientError) as refused:
        call(alice)
    assert refused.value.code == "remote_authority"
    assert "other.example" in refused.value.message
    assert network.seen == alice.outbox() == []


def test_nobody_is_registered_for_a_message_that_cannot_be_sent(agent: Make, network: Network) -> None:
    with refusal(ClientError):
        agent("alice").send(ELSEWHERE, 1)
    assert network.seen == []


def test_contacts_are_for_who_is_connected(agent: Make, network: Network) -> None:
    for change in (agent("alice").accept, agent("alice").block, agent("alice").forget):
        with refusal(ClientError) as refused:
            change("bob")
        assert refused.value.code == "not_connected"
    assert network.seen == []


def test_a_thread_is_read_though_one_of_its_messages_is_gone(alice: Messenger, bob: Messenger) -> None:
    root = alice.send(BOB, "root")
    removed = alice.send(BOB, "removed", reply_to=root.id)
    last = bob.send("alice@shop.example", "last", reply_to=root.id)
    Message.objects.filter(message_id=removed.id).update(
        state="removed", envelope="", ended_at=now_datetime()
    )
    page = bob.thread(root.id, "alice")
    assert [message.id for message in page.messages] == [root.id, last.id]
    [tombstone] = page.tombstones
    assert isinstance(tombstone, dict)
    assert tombstone["id"] == removed.id


def test_a_refusal_for_good_ends_the_message_and_others_keep_it(
    alice: Messenger, bob: Messenger, settings: Any
) -> None:
    with refusal(SiteError) as refused:
        alice.send("nobody@shop.example", 1)
    assert (refused.value.code, alice.outbox()) == ("unknown_recipient", [])
    alice.send(BOB, 1)
    Agent.objects.filter(name="alice").update(status="suspended")
    with refusal(SiteError) as refused:
        alice.send(BOB, 2)
    assert refused.value.code == "agent_suspended"
    assert len(alice.outbox()) == 1
    with refusal(SiteError):
        alice.resume()
    Agent.objects.filter(name="alice").update(status="active")
    assert [outcome.error for outcome in alice.resume()] == [None]


def test_resuming_goes_on_past_what_is_refused(alice: Messenger, bob: Messenger) -> None:
    alice.prepare("nobody@shop.example", 1)
    alice.prepare(BOB, 2)
    first, second = alice.resume()
    assert first.error is not None
    assert (first.error.code, second.error) == ("unknown_recipient", None)
    assert alice.outbox() == []


@pytest.mark.requirement("AIM-S27.2")
def test_a_limit_is_waited_for_as_long_as_the_site_says(
    alice: Messenger, bob: Messenger, settings: Any, time: Clock, network: Network
) -> None:
    bob.accept("alice")
    settings.AGENTWEB = {**settings.AGENTWEB, "MESSAGE_RATE": (0.1, 1)}
    alice.send(BOB, 1)
    begun = wire_clock.now()
    network.seen.clear()
    alice.send(BOB, 2)
    assert wire_clock.now() - begun >= 9
    assert len(network.to("/v2/messages")) == 2
    assert Message.objects.count() == 2


def test_a_limit_that_outlasts_our_patience_keeps_the_message(
    agent: Make, bob: Messenger, settings: Any, time: Clock
) -> None:
    alice = agent("alice", patience=5)
    alice.connect("alice")
    bob.accept("alice")
    settings.AGENTWEB = {**settings.AGENTWEB, "MESSAGE_RATE": (0.01, 1)}
    alice.send(BOB, 1)
    with refusal(SiteError) as refused:
        alice.send(BOB, 2)
    assert refused.value.code in {"quota_exceeded", "rate_limited"}
    assert refused.value.retry_after is not None
    time.forward(refused.value.retry_after)
    assert [outcome.error for outcome in alice.resume()] == [None]


@pytest.mark.parametrize("shift", [-3_000, 40_000])
def test_a_wrong_clock_is_set_by_the_service_and_stays_set(
    agent: Make, bob: Messenger, network: Network, shift: int
) -> None:
    def wrong() -> float:
        return wire_clock.now() + shift

    network.seen.clear()
    agent("alice", clock=wrong).connect("alice")
    assert len(network.to("/v2/agents/register")) == 1  # the answer before it said the time
    network.seen.clear()
    receipt = agent("alice", clock=wrong).send(BOB, "on time")
    assert abs(receipt.envelope.ts.timestamp() - wire_clock.now()) < 60
    assert len(network.to("/v2/messages")) == 1


def test_a_clock_that_goes_wrong_later_is_set_once(agent: Make, bob: Messenger, network: Network) -> None:
    shift = 0.0
    alice = agent("alice", clock=lambda: wire_clock.now() + shift)
    alice.connect("alice")
    shift = 1_000.0
    network.seen.clear()
    alice.inbox()
    assert len(network.to("/v2/inbox")) == 2
    alice.inbox()
    assert len(network.to("/v2/inbox")) == 3
    assert agent("alice").store.offset("shop.example") == pytest.approx(-1_000, abs=5)


@pytest.mark.requirement("AIM-S11.5")
def test_the_private_key_is_in_no_request(alice: Messenger, bob: Messenger, network: Network) -> None:
    alice.send(BOB, 1, sealed=True)
    list(alice.try_out())
    bob.accept("alice")
    list(bob.events())
    seed = alice.keystore.key.seed
    assert len(network.seen) > 15
    for request in network.seen:
        raw = request.content + str(request.url).encode() + str(dict(request.headers)).encode()
        for spelling in (seed, seed.hex().encode(), b64url(seed).encode(), seed[:16]):
            assert spelling not in raw


@pytest.mark.requirement("AIM-S9.6")
def test_the_trial_goes_through_the_protocol_and_reaches_nobody(agent: Make, bob: Messenger) -> None:
    alice = agent("alice")
    steps = list(alice.try_out())
    assert [step.name for step in steps] == [
        "discover", "connect", "send", "repeat", "seal", "events", "inbox"
    ]  # fmt: skip
    assert not Message.objects.exclude(sender__name=steps[1].detail.partition("@")[0]).exists()
    assert all(message.recipient_id == message.sender_id for message in Message.objects.all())
    assert list(bob.events()) == []
    # The events of the trial are still there for the agent itself.
    assert [event.type for event in alice.events()] == ["message", "message"]
