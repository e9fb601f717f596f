"""One intent acts once, whatever becomes of its answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest

from agentweb.client.agent import AgentClient
from agentweb.client.approvals.policy import ApprovalPolicy
from agentweb.client.errors import SiteError, UnreachableError
from agentweb.client.keystore import KeyStore
from agentweb.wire.errors import AgentError
from tests.client.conftest import AGENT
from tests.client.site import Reply, Seen, Site, Time, error

Grant = Callable[..., str]
BUY = "/api/buy"


@pytest.fixture(autouse=True)
def shop(site: Site, grant: Grant) -> None:
    grant("*")
    site.action("buy")
    site.action("look", effect="read", method="GET")


def refusal(call: Callable[[], object]) -> AgentError:
    with pytest.raises(AgentError) as caught:
        call()
    return caught.value


def impatient(keystore: KeyStore, time: Time) -> AgentClient:
    """A client that tries once."""
    never = ApprovalPolicy.never_ask()
    return AgentClient(keystore, approval=never, clock=time, sleep=time.sleep, attempts=1)


# --- trying again ---


def test_lost_answer_is_asked_for_again_and_acts_once(site: Site, client: AgentClient) -> None:
    site.script(BUY, site.act_and_drop)
    result = client.call_action(site.url, "buy", {"n": 1})
    assert (result.value, result.replayed) == ({"done": 1}, True)
    assert site.acts == [(BUY, {"n": 1})]
    first, second = site.calls()
    assert first.key == second.key == result.idempotency_key


@pytest.mark.requirement("AA-7.3")
def test_every_attempt_has_a_fresh_nonce_and_the_time_of_its_own(
    site: Site, client: AgentClient, time: Time
) -> None:
    site.script(BUY, Reply(drop=True), error(503, "unavailable", retry_after=3), error(429, "rate_limited"))
    client.call_action(site.url, "buy")
    seen = site.calls()
    assert len({attempt.nonce for attempt in seen}) == 4
    assert len({attempt.headers["signature"] for attempt in seen}) == 4
    assert {attempt.key for attempt in seen} == {seen[0].key}
    assert [site.signer_of(attempt) for attempt in seen] == [AGENT.public] * 4
    assert f"created={int(time.now)};" in seen[-1].headers["signature-input"]
    assert f"created={int(time.now)};" not in seen[0].headers["signature-input"]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (503, "unavailable"),
        (429, "rate_limited"),
        (409, "idempotency_in_progress"),
        (504, "timeout"),
        (503, "payment_unknown"),
    ],
)
def test_passing_trouble_is_waited_out_as_long_as_the_site_asks(
    site: Site, client: AgentClient, time: Time, status: int, code: str
) -> None:
    site.script(BUY, error(status, code, retry_after=11))
    assert client.call_action(site.url, "buy").value == {"done": 1}
    assert time.pauses == [11]


def test_pauses_grow_when_the_site_does_not_say(site: Site, client: AgentClient, time: Time) -> None:
    site.script(BUY, *[Reply(drop=True)] * 4)
    client.call_action(site.url, "buy")
    assert [0.5 * 2**index <= pause <= 0.75 * 2**index for index, pause in enumerate(time.pauses)] == [
        True
    ] * 4


def test_retry_after_of_a_header_counts(site: Site, client: AgentClient, time: Time) -> None:
    date = formatdate(time.now + 20, usegmt=True)
    site.script(
        BUY,
        Reply(503, body=b"<html>busy</html>", headers={"Retry-After": "9"}),
        Reply(429, value={"error": {"code": "rate_limited", "message": "x"}}, headers={"Retry-After": "4"}),
    )
    client.call_action(site.url, "buy")
    assert time.pauses == [9, 4]
    time.pauses.clear()
    site.script(BUY, Reply(503, body=b"", headers={"Retry-After": date}))
    client.call_action(site.url, "buy", {"n": 2})
    assert time.pauses == [pytest.approx(7, abs=1)]


@pytest.mark.parametrize("header", ["", "-1", "soon", "1.5", "9" * 30, "Thu, 99 Foo 2026"])
def test_retry_after_that_makes_no_sense_is_ignored(
    site: Site, client: AgentClient, time: Time, header: str
) -> None:
    site.script(BUY, Reply(503, body=b"", headers={"Retry-After": header}))
    client.call_action(site.url, "buy")
    assert len(time.pauses) == 1
    assert time.pauses[0] < 1


def test_attempts_are_bounded(site: Site, client: AgentClient, time: Time) -> None:
    site.script(BUY, *[error(503, "unavailable", retry_after=2)] * 20)
    caught = refusal(lambda: client.call_action(site.url, "buy"))
    assert isinstance(caught, SiteError)
    assert (caught.code, caught.retry_after, len(site.calls())) == ("unavailable", 2, 5)
    assert len(time.pauses) == 4


def test_time_is_bounded(site: Site, client: AgentClient, time: Time) -> None:
    site.script(BUY, *[error(503, "unavailable", retry_after=25)] * 20)
    assert refusal(lambda: client.call_action(site.url, "buy")).retry_after == 25
    assert time.pauses == [25, 25]


def test_wait_beyond_all_patience_is_left_to_the_caller(site: Site, client: AgentClient, time: Time) -> None:
    site.script(BUY, error(429, "rate_limited", retry_after=3_600))
    assert refusal(lambda: client.call_action(site.url, "buy")).retry_after == 3_600
    assert (len(site.calls()), time.pauses) == (1, [])


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "malformed_json"),
        (403, "insufficient_scope"),
        (409, "out_of_stock"),
        (422, "invalid_input"),
        (500, "handler_error"),
    ],
)
def test_other_errors_are_not_repeated(site: Site, client: AgentClient, status: int, code: str) -> None:
    site.script(BUY, error(status, code))
    assert refusal(lambda: client.call_action(site.url, "buy")).code == code
    assert len(site.calls()) == 1


def test_error_of_the_action_that_names_a_time_is_not_repeated_under_its_used_key(
    site: Site, client: AgentClient
) -> None:
    site.script(BUY, error(409, "out_of_stock", retry_after=1))
    assert refusal(lambda: client.call_action(site.url, "buy")).retry_after == 1
    assert len(site.calls()) == 1


def test_reads_are_tried_again_too(site: Site, client: AgentClient) -> None:
    site.script("/api/look", Reply(drop=True), error(503, "unavailable", retry_after=1))
    assert client.call_action(site.url, "look").status == 200
    assert [seen.key for seen in site.calls()] == [None] * 3


def test_replayed_request_is_sent_again_with_a_new_nonce(site: Site, client: AgentClient) -> None:
    site.script(BUY, error(401, "request_replayed"))
    assert client.call_action(site.url, "buy").value == {"done": 1}
    assert len({seen.nonce for seen in site.calls()}) == 2


# --- the clock ---


def test_wrong_clock_is_corrected_once_by_the_sites_time(site: Site, client: AgentClient, time: Time) -> None:
    away = int(time.now) + 5_000
    site.script(BUY, error(401, "signature_expired", server_time=away))
    client.call_action(site.url, "buy")
    assert [f"created={away};" in seen.headers["signature-input"] for seen in site.calls()] == [False, True]
    client.call_action(site.url, "buy", {"n": 2})
    assert f"created={away};" in site.calls()[-1].headers["signature-input"]
    assert len(site.calls()) == 3


def test_site_that_never_likes_the_time_is_not_asked_a_third_time(
    site: Site, client: AgentClient, time: Time
) -> None:
    site.script(BUY, *[error(401, "signature_expired", server_time=int(time.now))] * 5)
    assert refusal(lambda: client.call_action(site.url, "buy")).code == "signature_expired"
    assert len(site.calls()) == 2
    assert client.pending() == []


@pytest.mark.parametrize("server_time", [None, "1790000000", -1, True, 1.5, 10**13, 10**38])
def test_time_that_is_no_time_is_not_learned(site: Site, client: AgentClient, server_time: Any) -> None:
    site.script(BUY, error(401, "signature_expired", server_time=server_time))
    assert refusal(lambda: client.call_action(site.url, "buy")).code == "signature_expired"
    assert len(site.calls()) == 1


@pytest.mark.parametrize("status", [600, 999])
def test_status_that_does_not_exist_is_no_error_of_the_sites(
    site: Site, client: AgentClient, status: int
) -> None:
    site.script(BUY, error(status, "out_of_stock"))
    assert refusal(lambda: client.call_action(site.url, "buy")).code == "response_invalid"
    assert len(client.pending()) == 1


# --- one intent, one key ---


def test_call_repeated_after_a_lost_answer_reuses_its_key(
    site: Site, keystore: KeyStore, client: AgentClient, time: Time
) -> None:
    site.script(BUY, site.act_and_drop)
    assert isinstance(
        refusal(lambda: impatient(keystore, time).call_action(site.url, "buy", {"n": 1})), UnreachableError
    )
    (pending,) = client.pending()
    assert (pending.action, pending.input, pending.site) == ("buy", {"n": 1}, site.authority)
    result = client.call_action(site.url, "buy", {"n": 1})
    assert (result.replayed, result.idempotency_key) == (True, pending.key)
    assert len(site.acts) == 1
    assert client.pending() == []


def test_call_repeated_after_a_final_answer_is_a_new_intent(site: Site, client: AgentClient) -> None:
    keys = [client.call_action(site.url, "buy", {"n": 1}).idempotency_key for _ in range(2)]
    assert len(set(keys)) == 2
    assert len(site.acts) == 2


def test_new_intent_acts_again_although_an_answer_was_lost(
    site: Site, keystore: KeyStore, client: AgentClient, time: Time
) -> None:
    site.script(BUY, site.act_and_drop)
    refusal(lambda: impatient(keystore, time).call_action(site.url, "buy"))
    result = client.call_action(site.url, "buy", new_intent=True)
    assert (result.replayed, len(site.acts)) == (False, 2)
    assert client.pending() == []


def test_named_intents_of_one_input_are_two(
    site: Site, keystore: KeyStore, client: AgentClient, time: Time
) -> None:
    site.script(BUY, site.act_and_drop)
    refusal(lambda: impatient(keystore, time).call_action(site.url, "buy", intent="for Ann"))
    assert client.call_action(site.url, "buy", intent="for Bob").replayed is False
    assert client.call_action(site.url, "buy", intent="for Ann").replayed is True
    assert len(site.acts) == 2


def test_key_and_input_are_on_the_disk_before_the_site_sees_the_call(
    site: Site, keystore: KeyStore, client: AgentClient
) -> None:
    found: list[Any] = []

    def look(seen: Seen) -> Reply:
        folder = keystore.path.with_name(keystore.path.name + ".pending")
        found.extend(json.loads(path.read_text()) for path in folder.iterdir())
        return site.act(seen)

    site.script(BUY, look)
    result = client.call_action(site.url, "buy", {"n": 1})
    assert [(kept["key"], kept["input"]) for kept in found] == [(result.idempotency_key, {"n": 1})]


PROGRAM = """
import sys
from agentweb.client.agent import AgentClient
from agentweb.client.approvals.policy import ApprovalPolicy
from agentweb.client.keystore import KeyStore
from agentweb.wire import clock
client = AgentClient(KeyStore(sys.argv[1]), clock=lambda: float(sys.argv[3]))
client.call_action(sys.argv[2], "buy", {"n": 1})
"""


def test_agent_killed_while_it_waits_finds_its_call_again(
    site: Site, keystore: KeyStore, client: AgentClient, time: Time
) -> None:
    acted, over = threading.Event(), threading.Event()

    def act_and_hang(seen: Seen) -> Reply:
        reply = site.act(seen)
        acted.set()
        over.wait(30)
        return reply

    site.script(BUY, act_and_hang)
    arguments = [sys.executable, "-c", PROGRAM, str(keystore.path), site.url, str(time.now)]
    agent = subprocess.Popen(arguments, env=os.environ | {"PYTHONPATH": os.getcwd()})
    assert acted.wait(30)
    agent.send_signal(signal.SIGKILL)
    agent.wait()
    over.set()
    (pending,) = client.pending()
    result = client.call_action(site.url, "buy", {"n": 1})
    assert (result.replayed, result.idempotency_key, len(site.acts)) == (True, pending.key, 1)


def test_interrupted_call_stays_unsettled(site: Site, keystore: KeyStore, time: Time) -> None:
    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    site.script(BUY, site.act_and_drop)
    with AgentClient(keystore, clock=time, sleep=interrupt) as client:
        with pytest.raises(KeyboardInterrupt):
            client.call_action(site.url, "buy")
        assert len(client.pending()) == 1


def test_two_threads_with_one_intent_act_once(site: Site, client: AgentClient) -> None:
    lock = threading.Lock()
    running = threading.Event()

    def act(seen: Seen) -> Reply:
        if not lock.acquire(blocking=False):
            return error(409, "idempotency_in_progress", retry_after=1)
        running.wait(5)
        reply = site.act(seen)
        lock.release()
        return reply

    site.script(BUY, act, act)
    results: list[Any] = []
    threads = [
        threading.Thread(target=lambda: results.append(client.call_action(site.url, "buy").value))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    while len(site.calls()) < 2:
        running.wait(0.005)
    running.set()
    for thread in threads:
        thread.join()
    assert results == [{"done": 1}] * 2
    assert len(site.acts) == 1


# --- when is an intent settled? ---


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "malformed_json"),
        (401, "grant_expired"),
        (403, "insufficient_scope"),
        (403, "mandate_exceeded"),
        (409, "out_of_stock"),
        (422, "invalid_input"),
        (429, "rate_limited"),
    ],
)
def test_refusal_of_the_first_attempt_settles(
    site: Site, keystore: KeyStore, time: Time, status: int, code: str
) -> None:
    site.script(BUY, error(status, code))
    with impatient(keystore, time) as client:
        assert refusal(lambda: client.call_action(site.url, "buy")).code == code
        assert client.pending() == []


@pytest.mark.parametrize(
    "reply",
    [
        error(500, "handler_error"),
        error(503, "payment_unknown", retry_after=1),
        error(504, "timeout"),
        Reply(502, body=b"<html>"),
        Reply(302, body=b"", headers={"Location": "/done"}),
        Reply(200, body=b"<html>thank you</html>"),
        Reply(200, body=b""),
        Reply(200, body=b"{}", headers={"Content-Encoding": "gzip"}),
        Reply(drop=True),
        error(409, "idempotency_in_progress", retry_after=1),
        error(422, "idempotency_key_reused"),
        error(401, "request_replayed"),
    ],
)
def test_answer_that_leaves_it_open_settles_nothing(
    site: Site, keystore: KeyStore, time: Time, reply: Reply
) -> None:
    site.script(BUY, reply)
    with impatient(keystore, time) as client:
        refusal(lambda: client.call_action(site.url, "buy"))
        assert len(client.pending()) == 1
        key = client.pending()[0].key
        assert client.call_action(site.url, "buy").idempotency_key == key
        assert client.pending() == []


@pytest.mark.parametrize(
    ("status", "code", "settles"),
    [
        (401, "grant_revoked", False),
        (403, "insufficient_scope", False),
        (404, "action_not_found", False),
        (422, "invalid_input", False),
        (429, "rate_limited", False),
        (409, "out_of_stock", True),
        (402, "payment_declined", True),
        (422, "refund_exceeds_charge", True),
    ],
)
def test_refusal_after_a_lost_answer_settles_only_when_the_site_looked_at_the_key(
    site: Site, keystore: KeyStore, time: Time, status: int, code: str, settles: bool
) -> None:
    site.script(BUY, Reply(drop=True), error(status, code))
    with impatient(keystore, time) as client:
        refusal(lambda: client.call_action(site.url, "buy"))
        assert refusal(lambda: client.call_action(site.url, "buy")).code == code
        assert len(client.pending()) == (0 if settles else 1)


def test_kept_refusal_settles_whatever_its_status(site: Site, keystore: KeyStore, time: Time) -> None:
    kept = error(403, "not_allowed")
    kept.headers = {"Idempotent-Replayed": "true"}
    site.script(BUY, Reply(drop=True), kept)
    with impatient(keystore, time) as client:
        refusal(lambda: client.call_action(site.url, "buy"))
        assert refusal(lambda: client.call_action(site.url, "buy")).code == "not_allowed"
        assert client.pending() == []


def test_call_that_never_left_is_not_kept(site: Site, client: AgentClient) -> None:
    site.manifest_headers["Connection"] = "close"
    client.discover_actions(site.url)
    site.server.shutdown()
    site.server.server_close()
    caught = refusal(lambda: client.call_action(site.url, "buy"))
    assert isinstance(caught, UnreachableError)
    assert not caught.may_have_arrived
    assert client.pending() == []


def test_day_old_call_is_not_repeated_silently(
    site: Site, keystore: KeyStore, client: AgentClient, time: Time, grant: Grant
) -> None:
    site.script(BUY, site.act_and_drop)
    refusal(lambda: impatient(keystore, time).call_action(site.url, "buy"))
    time.now += 86_401
    grant("*")
    assert refusal(lambda: client.call_action(site.url, "buy")).code == "outcome_unknown"
    assert len(site.calls()) == 1
    assert client.call_action(site.url, "buy", new_intent=True).status == 200


def test_call_that_may_have_been_paid_is_asked_about_although_the_mandate_is_used_up(
    site: Site, keystore: KeyStore, client: AgentClient, time: Time, grant: Grant
) -> None:
    paying = grant("pay", spending=("USD", 10_00, 10_00))
    site.action("pay", effect="spend", scope="pay", cost={"currency": "USD", "amount": 10})
    site.script("/api/pay", site.act_and_drop)
    refusal(lambda: impatient(keystore, time).call_action(site.url, "pay"))
    keystore.change_site(site.authority, lambda record: type(record)(spent={paying: 10_00}))
    assert client.call_action(site.url, "pay").replayed is True
    assert refusal(lambda: client.call_action(site.url, "pay")).code == "grant_required"
