"""Whose request it is: each check in its place, and nothing written before all of them hold."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.utils.http import parse_http_date

from agentweb.access.models import Bucket, Nonce
from agentweb.aim import accept, agents, log, transactions
from agentweb.aim.models import Agent, AgentKey, LogHead, Message
from agentweb.aim.restoring import begin_epoch
from agentweb.aim.views.messages import MessagesView
from agentweb.testing.clocks import clock
from agentweb.wire.aim.authorization import MAX_SKEW_SECONDS, NONCE_SECONDS
from agentweb.wire.aim.keys import public_of
from agentweb.wire.clock import from_unix, now, now_datetime
from agentweb.wire.encoding import b64url
from agentweb.wire.errors import Code, ServerError
from agentweb.wire.signing import SigningKey
from tests.aim.wire import Speaker, code, encoded, error, registered, send
from tests.support.races import Database, race, run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("easy_work")]


@pytest.fixture
def alice() -> Speaker:
    return registered("alice")


def nonces() -> int:
    return Nonce.objects.filter(key__startswith="aim:").count()


@pytest.mark.requirement("AIM-S12.1")
@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/v2/inbox"),
        ("POST", "/v2/messages"),
        ("GET", "/v2/messages/m0123456789abcdef"),
        ("DELETE", "/v2/messages/m0123456789abcdef"),
        ("GET", "/v2/threads/m0123456789abcdef"),
        ("GET", "/v2/events"),
        ("GET", "/v2/contacts"),
        ("PUT", "/v2/contacts/bob"),
        ("DELETE", "/v2/contacts/bob"),
        ("GET", "/v2/agents/me"),
        ("PATCH", "/v2/agents/me"),
        ("DELETE", "/v2/agents/me"),
        ("POST", "/v2/agents/register"),
    ],
)
def test_what_is_an_agents_own_is_asked_for_with_a_signature(
    client: Client, method: str, target: str
) -> None:
    response = send(client, method, target, b"{}" if method in {"POST", "PUT", "PATCH"} else b"")
    assert code(response) == (401, "authorization_required")
    assert response["WWW-Authenticate"] == "AIM"


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_a_signed_read_is_answered(alice: Speaker, method: str) -> None:
    assert alice.ask(method, "/v2/inbox?lane=requests").status_code == 200


@pytest.mark.requirement("AIM-S12.2")
def test_a_signature_is_good_for_one_method(alice: Speaker) -> None:
    header = alice.header("GET", "/v2/inbox")
    assert code(send(alice.client, "DELETE", "/v2/agents/me", b"", alice.header("GET", "/v2/agents/me"))) == (
        401,
        "bad_signature",
    )
    # HEAD is another method than GET, and what X-HTTP-Method-Override says is none.
    assert send(alice.client, "HEAD", "/v2/inbox", b"", header).status_code == 401
    override = send(alice.client, "POST", "/v2/inbox", b"", header, X_HTTP_Method_Override="GET")
    assert code(override) == (405, "method_not_allowed")
    assert send(alice.client, "GET", "/v2/inbox", b"", header).status_code == 200


@pytest.mark.requirement("AIM-S12.3")
@pytest.mark.parametrize(
    "sent",
    [
        "/v2/inbox?limit=5",
        "/v2/inbox?limit=50&",
        "/v2/inbox?limit=%350",
        "/v2/inbox/?limit=50",
        "/v2/inbox",
        "/v2/events?limit=50",
    ],
)
def test_a_signature_is_good_for_one_target_to_the_byte(alice: Speaker, sent: str) -> None:
    signed = "/v2/inbox?limit=50"
    response = send(alice.client, "GET", sent, b"", alice.header("GET", signed))
    assert code(response) == (401, "bad_signature")
    assert error(response)["details"]["target"] == sent


@pytest.mark.requirement("AIM-S12.4")
@pytest.mark.parametrize("authority", ["other.example", "shop.example:8443", "SHOP.example", "localhost"])
def test_a_signature_for_another_site_is_refused_whatever_host_the_request_names(
    alice: Speaker, authority: str
) -> None:
    other = Speaker("alice", authority=authority.lower())
    response = send(alice.client, "GET", "/v2/inbox", b"", other.header("GET", "/v2/inbox"), Host=authority)
    expected = 200 if authority.lower() == "shop.example" else 401
    assert response.status_code == expected


def test_the_received_host_does_not_matter(alice: Speaker) -> None:
    for host in ("10.0.0.7:8000", "proxy.internal"):
        response = send(
            alice.client,
            "GET",
            "/v2/inbox",
            b"",
            alice.header("GET", "/v2/inbox"),
            Host=host,
            X_Forwarded_Host="evil.example",
        )
        assert response.status_code == 200


def test_former_names_of_the_site_are_signed_for_too(alice: Speaker, settings: Any) -> None:
    old = Speaker("alice", authority="old.example:8443")
    assert code(old.get("/v2/inbox")) == (401, "bad_signature")
    settings.AGENTWEB = {**settings.AGENTWEB, "AUTHORITIES": ["old.example:8443"]}
    assert old.get("/v2/inbox").status_code == 200
    assert alice.get("/v2/inbox").status_code == 200
    # Addresses stay at the site's own name.
    assert old.get("/v2/agents/me").json()["agent"]["address"] == "alice@shop.example"


@pytest.mark.requirement("AIM-S12.5")
def test_a_signature_is_good_for_one_body(alice: Speaker) -> None:
    body = b'{"dm_policy": "closed"}'
    header = alice.header("PATCH", "/v2/agents/me", body)
    for other in (b'{"dm_policy":"closed"}', b'{"dm_policy": "closed"} ', b""):
        response = send(alice.client, "PATCH", "/v2/agents/me", other, header)
        assert code(response) == (401, "bad_signature")
        assert error(response)["details"] == {
            "method": "PATCH",
            "target": "/v2/agents/me",
            "authority": "shop.example",
            "body_sha256": hashlib.sha256(other).hexdigest(),
        }
    assert send(alice.client, "PATCH", "/v2/agents/me", body, header).status_code == 200


@pytest.mark.requirement("AIM-S12.6")
@pytest.mark.parametrize(
    ("shift", "is_good"), [(-301, False), (-300, True), (0, True), (300, True), (301, False)]
)
def test_the_time_may_differ_by_the_skew_either_way(alice: Speaker, shift: int, is_good: bool) -> None:
    with clock(1_800_000_000):
        AgentKey.objects.update(since=from_unix(1_700_000_000))
        LogHead.objects.update(epoch_since=from_unix(1_700_000_000))
        alice.shift = shift
        response = alice.get("/v2/inbox")
        if is_good:
            assert response.status_code == 200
        else:
            assert code(response) == (401, "clock_skew")
            assert error(response)["details"] == {"server_time": 1_800_000_000}
            assert parse_http_date(response["Date"]) == 1_800_000_000


def test_a_client_corrects_its_clock_by_what_the_refusal_says(alice: Speaker) -> None:
    alice.shift = 7_200
    with clock(1_800_000_000):
        AgentKey.objects.update(since=from_unix(1_700_000_000))
        told = error(alice.get("/v2/inbox"))["details"]["server_time"]
        assert alice.get("/v2/inbox", ts=told).status_code == 200


def test_a_body_that_comes_slowly_does_not_outlive_the_skew(
    alice: Speaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = encoded({"dm_policy": "closed"})
    with clock() as moving:
        read = MessagesView.body

        def slowly(self: Any) -> bytes:
            moving.forward(MAX_SKEW_SECONDS + 2)
            return read(self)

        from agentweb.aim.views.identities import MeView

        monkeypatch.setattr(MeView, "body", slowly, raising=False)
        response = send(
            alice.client, "PATCH", "/v2/agents/me", body, alice.header("PATCH", "/v2/agents/me", body)
        )
    assert code(response) == (401, "clock_skew")


@pytest.mark.requirement("AIM-S12.7")
def test_the_nonce_in_the_header_is_the_signed_one(alice: Speaker) -> None:
    header = alice.header("GET", "/v2/inbox", nonce="A" * 22)
    response = send(alice.client, "GET", "/v2/inbox", b"", header.replace("A" * 22, "B" * 22))
    assert code(response) == (401, "bad_signature")


@pytest.mark.requirement("AIM-S13.1")
def test_a_nonce_is_good_once(alice: Speaker) -> None:
    header = alice.header("GET", "/v2/inbox")
    assert send(alice.client, "GET", "/v2/inbox", b"", header).status_code == 200
    again = send(alice.client, "GET", "/v2/inbox", b"", header)
    assert code(again) == (401, "nonce_reused")
    # Also with another signature under it.
    other = alice.header("GET", "/v2/contacts", nonce=header.split('nonce="')[1].split('"')[0])
    assert code(send(alice.client, "GET", "/v2/contacts", b"", other)) == (401, "nonce_reused")


def test_two_agents_may_use_one_nonce(alice: Speaker) -> None:
    bob = registered("bob")
    for speaker in (alice, bob):
        assert speaker.get("/v2/inbox", nonce="N" * 22).status_code == 200


def test_a_nonce_is_remembered_for_longer_than_its_request_could_be_accepted(alice: Speaker) -> None:
    with clock(1_800_000_000):
        AgentKey.objects.update(since=from_unix(1_700_000_000))
        alice.get("/v2/inbox", nonce="N" * 22, ts=1_800_000_000 + MAX_SKEW_SECONDS)
        kept = Nonce.objects.get(nonce="N" * 22).expires_at
    assert kept == from_unix(1_800_000_000 + MAX_SKEW_SECONDS + NONCE_SECONDS)
    assert kept > from_unix(1_800_000_000 + 2 * MAX_SKEW_SECONDS)


def test_a_nonce_stays_used_when_the_work_fails(alice: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    envelope = encoded(alice.write(alice))
    header = alice.header("POST", "/v2/messages", envelope)

    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the database went away")

    with monkeypatch.context() as broken:
        broken.setattr(accept, "accept", fails)
        assert code(send(alice.client, "POST", "/v2/messages", envelope, header)) == (500, "internal")
    assert code(send(alice.client, "POST", "/v2/messages", envelope, header)) == (401, "nonce_reused")
    assert alice.post("/v2/messages", envelope).status_code == 202


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param("", id="nothing"),
        pytest.param("AIM", id="scheme alone"),
        pytest.param("Bearer abc", id="another scheme"),
        pytest.param("Basic YTpi", id="basic"),
        pytest.param('AIM key="x"', id="one parameter"),
        pytest.param("AIM {good}, {good}", id="twice"),
        pytest.param('AIM {good}, extra="1"', id="unknown parameter"),
        pytest.param("AIM {padded}", id="padding"),
        pytest.param("AIM {escaped}", id="backslash"),
        pytest.param("AIM {good},", id="comma at the end"),
        pytest.param("AIM {late}", id="time that is no number"),
        pytest.param("AIM {short}", id="short nonce"),
    ],
)
@pytest.mark.parametrize("target", ["/v2/inbox", "/v2/policy", "/v2/agents/alice", "/.well-known/aim.json"])
def test_a_header_that_is_none_is_refused_everywhere(alice: Speaker, spoilt: str, target: str) -> None:
    good = alice.header("GET", target).removeprefix("AIM ")
    text = spoilt.format(
        good=good,
        padded=good.replace('", ts', '=", ts'),
        escaped=good.replace('key="', 'key="\\\\'),
        late=good.replace('ts="', 'ts="+'),
        short=good.replace(good.split('nonce="')[1].split('"')[0], "abc"),
    )
    response = send(alice.client, "GET", target, b"", text)
    assert code(response) == (401, "malformed_authorization")
    assert response["WWW-Authenticate"] == "AIM"


@pytest.mark.parametrize(
    "target", ["/v2/policy", "/v2/agents/alice", "/.well-known/aim.json", "/openapi.json"]
)
def test_a_public_address_takes_a_good_signature_and_no_bad_one(alice: Speaker, target: str) -> None:
    assert alice.get(target).status_code == 200
    assert send(alice.client, "GET", target).status_code == 200
    wrong = alice.header("GET", "/v2/inbox")
    assert code(send(alice.client, "GET", target, b"", wrong)) == (401, "bad_signature")
    assert code(Speaker("stranger").get(target)) == (401, "unknown_key")


def test_only_a_registered_key_is_an_agent_and_a_stranger_fills_no_table(client: Client) -> None:
    stranger = Speaker("stranger")
    assert code(stranger.get("/v2/inbox")) == (401, "unknown_key")
    assert nonces() == 0
    assert not Bucket.objects.filter(key__startswith="aim:").exists()


def test_a_suspended_agent_does_nothing_and_fills_no_table(alice: Speaker) -> None:
    agents.suspend(Agent.objects.get())
    before = nonces()
    assert code(alice.get("/v2/inbox")) == (403, "agent_suspended")
    assert nonces() == before
    agents.restore(Agent.objects.get())
    assert alice.get("/v2/inbox").status_code == 200


def test_a_deleted_agent_is_gone(alice: Speaker) -> None:
    agents.delete(Agent.objects.get())
    assert code(alice.get("/v2/inbox")) == (410, "agent_deleted")
    assert code(alice.post("/v2/agents/register", alice.registration())) == (410, "agent_deleted")


def test_a_former_key_is_told_that_there_is_another(alice: Speaker) -> None:
    AgentKey.objects.update(until=now_datetime())
    AgentKey.objects.create(
        agent=Agent.objects.get(), public=public_of(SigningKey.generate()), since=now_datetime()
    )
    assert code(alice.get("/v2/inbox")) == (401, "key_rotated")


def test_after_a_restore_nothing_that_was_signed_before_counts(alice: Speaker) -> None:
    """A signature names a time up to the skew ahead, so for that long nobody sees which ones are from before."""
    with clock(1_800_000_000) as moving:
        latest = alice.header("GET", "/v2/inbox", ts=1_800_000_300)
        begin_epoch()
        for passed in (0, 100, 300):
            moving.forward(1_800_000_000 + passed - now())
            put_off = send(alice.client, "GET", "/v2/inbox", authorization=latest)
            assert code(put_off) == (503, "overloaded")
            assert code(alice.get("/v2/inbox")) == (503, "overloaded")
            assert put_off["Retry-After"] == str(301 - passed)
        moving.forward(1_800_000_301 - now())
        assert code(send(alice.client, "GET", "/v2/inbox", authorization=latest)) == (401, "clock_skew")
        assert alice.get("/v2/inbox").status_code == 200


def test_after_a_restore_no_captured_registration_brings_back_who_is_forgotten(alice: Speaker) -> None:
    with clock(1_800_000_000) as moving:
        bob = Speaker("bob")
        body = encoded(bob.registration())
        captured = bob.header("POST", "/v2/agents/register", body, ts=1_800_000_300)
        begin_epoch()
        for passed, expected in ((0, (503, "overloaded")), (301, (401, "clock_skew"))):
            moving.forward(1_800_000_000 + passed - now())
            answer = send(bob.client, "POST", "/v2/agents/register", body, captured)
            assert code(answer) == expected
        assert not Agent.objects.filter(name="bob").exists()
        assert bob.post("/v2/agents/register", bob.registration()).status_code == 201


def test_a_fresh_site_puts_off_nobody(client: Client) -> None:
    assert not LogHead.objects.exists()
    with clock(1_800_000_000):
        for speaker in (Speaker("late", shift=-300), Speaker("early", shift=300)):
            speaker.register()
            assert speaker.get("/v2/inbox").status_code == 200


def test_the_limit_of_a_key_says_truly_when_to_come_again(alice: Speaker, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "CALLER_RATE": (0.3, 2)}
    with clock() as moving:
        AgentKey.objects.update(since=now_datetime() - timedelta(days=9))
        assert [alice.get("/v2/inbox").status_code for _ in range(3)] == [200, 200, 429]
        before = nonces()
        refused = alice.get("/v2/inbox")
        assert code(refused) == (429, "rate_limited")
        assert nonces() == before
        wait = error(refused)["retry_after"]
        assert refused["Retry-After"] == str(wait)
        assert error(refused)["details"]["limit"] == {"per_second": 0.3, "burst": 2}
        moving.forward(wait - 1)
        assert alice.get("/v2/inbox").status_code == 429
        moving.forward(1)
        assert alice.get("/v2/inbox").status_code == 200


def test_whoever_repeats_an_overheard_request_uses_up_nothing_of_its_senders(
    alice: Speaker, settings: Any
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "CALLER_RATE": (0.001, 5)}
    with clock():
        header = alice.header("GET", "/v2/inbox")
        assert send(alice.client, "GET", "/v2/inbox", b"", header).status_code == 200
        for _ in range(10):
            assert code(send(alice.client, "GET", "/v2/inbox", b"", header)) == (401, "nonce_reused")
        assert alice.get("/v2/inbox").status_code == 200


def test_signatures_that_do_not_hold_close_their_address_after_a_while(alice: Speaker, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "FAILURE_RATE": (0.001, 3)}
    with clock():
        wrong = alice.header("GET", "/v2/contacts")
        answers = [send(alice.client, "GET", "/v2/inbox", b"", wrong).status_code for _ in range(4)]
        assert answers == [401, 401, 401, 429]
        elsewhere = Client(REMOTE_ADDR="203.0.113.9")
        assert send(elsewhere, "GET", "/v2/inbox", b"", alice.header("GET", "/v2/inbox")).status_code == 200


def test_a_database_that_fails_is_overloaded_and_not_open(
    alice: Speaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise ServerError(Code.UNAVAILABLE, "The site cannot check calls at the moment.", retry_after=None)

    monkeypatch.setattr("agentweb.access.admission.admit", fails)
    response = alice.get("/v2/inbox")
    assert code(response) == (503, "overloaded")
    assert error(response)["retry_after"] == int(response["Retry-After"]) == 1


@pytest.mark.parametrize(
    "target", ["/v2/inbox", "/v2/nothing", "/v2/policy", "/docs/envelopes.md", "/openapi.json"]
)
def test_every_answer_has_the_time(client: Client, target: str) -> None:
    with clock(1_800_000_000):
        for method in ("GET", "HEAD", "OPTIONS", "POST"):
            response = send(client, method, target)
            assert parse_http_date(response["Date"]) == 1_800_000_000


@pytest.mark.parametrize(
    ("environ", "is_ours"),
    [
        ({}, True),
        ({"SERVER_SOFTWARE": "WSGIServer/0.2"}, True),
        ({"SERVER_SOFTWARE": "gunicorn/27.0.1"}, False),
    ],
)
def test_no_answer_gets_a_second_date(client: Client, environ: dict[str, str], is_ours: bool) -> None:
    assert ("Date" in client.get("/v2/policy", **environ)) is is_ours


def test_a_body_over_the_limit_is_too_large(alice: Speaker, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2_000
    response = alice.post("/v2/messages", b'"' + b"x" * 2_000 + b'"')
    assert code(response) == (413, "too_large")
    assert error(response)["details"] == {"limit": 2_000}
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2_621_440
    assert code(alice.post("/v2/messages", b'"' + b"x" * 1_400_000 + b'"')) == (413, "too_large")
    assert code(alice.post("/v2/messages", b'"' + b"x" * 1_399_998 + b'"')) == (422, "invalid_envelope")


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/v2/challenges"),
        ("POST", "/v2/agents/register"),
        ("PATCH", "/v2/agents/me"),
        ("DELETE", "/v2/agents/me"),
        ("PUT", "/v2/contacts/bob"),
        ("GET", "/v2/inbox"),
    ],
)
def test_a_body_that_is_no_message_is_small(alice: Speaker, method: str, target: str) -> None:
    response = alice.ask(method, target, b" " * 4_097)
    assert code(response) == (413, "too_large")
    assert error(response)["details"] == {"limit": 4_096}
    assert alice.ask(method, target, b"!" * 4_096).status_code != 413


def test_a_body_has_a_length_and_no_coding_of_its_own(alice: Speaker) -> None:
    body = encoded(alice.write(alice))
    header = alice.header("POST", "/v2/messages", body)
    chunked = send(alice.client, "POST", "/v2/messages", body, header, Transfer_Encoding="chunked")
    assert code(chunked) == (411, "length_required")
    zipped = send(alice.client, "POST", "/v2/messages", body, header, Content_Encoding="gzip")
    assert code(zipped) == (415, "unsupported_media_type")
    form = alice.client.generic(
        "POST", "/v2/messages", body, "application/x-www-form-urlencoded", headers={"Authorization": header}
    )
    assert code(form) == (415, "unsupported_media_type")
    assert nonces() == 1  # that of the registration


def test_the_shape_of_the_header_comes_before_the_time_and_the_time_before_the_signature(
    alice: Speaker,
) -> None:
    late = Speaker("stranger", shift=-9_999)
    assert code(send(alice.client, "GET", "/v2/inbox", b"", late.header("GET", "/elsewhere"))) == (
        401,
        "clock_skew",
    )
    stranger = Speaker("stranger")
    assert code(send(alice.client, "GET", "/v2/inbox", b"", stranger.header("GET", "/elsewhere"))) == (
        401,
        "bad_signature",
    )


def test_a_key_that_verifies_everything_signs_nothing(client: Client) -> None:
    # The neutral element: with R the same and s zero, some verifiers accept it for any message.
    key, sig = b64url(b"\1" + bytes(31)), b64url(b"\1" + bytes(63))
    header = f'AIM key="{key}", ts="{int(datetime.now(UTC).timestamp())}", nonce="{"A" * 22}", sig="{sig}"'
    assert code(send(client, "GET", "/v2/inbox", b"", header)) == (401, "bad_signature")


def test_no_view_of_the_messenger_runs_in_a_transaction_of_the_sites() -> None:
    from agentweb.aim.urls import urlpatterns, well_known

    views = [pattern.callback for pattern in (*well_known, *urlpatterns)]
    assert views
    assert all("default" in getattr(view, "_non_atomic_requests", ()) for view in views)


def test_a_request_leaves_nothing_open_where_it_is_refused(alice: Speaker) -> None:
    assert code(alice.post("/v2/messages", b"{")) == (400, "malformed_json")
    assert Message.objects.count() == 0
    assert log.ends().last == 0
    assert transactions.run(lambda: 1) == 1


# -- races, between processes


def make_agent() -> None:
    from tests.aim.agents import person

    person("racer")


def ask_once(header: str) -> int:
    request = RequestFactory().get("/v2/inbox", headers={"Authorization": header})
    from agentweb.aim.views.messages import InboxView

    return int(InboxView.as_view()(request).status_code)


@pytest.mark.requirement("AIM-S13.1")
@pytest.mark.django_db(transaction=False)
def test_of_processes_that_send_the_same_request_at_once_one_is_answered(race_database: Database) -> None:
    run(race_database, "tests.aim.test_authentication:make_agent")
    header = Speaker("racer").header("GET", "/v2/inbox")
    answers = race(race_database, "tests.aim.test_authentication:ask_once", [[header]] * 6)
    assert sorted(answers) == [200, 401, 401, 401, 401, 401]
