"""How a key becomes an agent: challenge, work, name; once, whatever gets lost on the way."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.utils.crypto import salted_hmac

from agentweb.access.models import Nonce
from agentweb.aim import challenges
from agentweb.aim.models import Account, Agent, AgentKey, UsedChallenge
from agentweb.aim.routes import ROUTES
from agentweb.aim.views.identities import RegisterView
from agentweb.testing.clocks import clock
from agentweb.wire.aim import proof_of_work
from agentweb.wire.aim.names import RESERVED, NameRefusedError, check_name, key_name
from agentweb.wire.encoding import b64url
from tests.aim.wire import Speaker, code, encoded, error, registered, send
from tests.support.races import Database, race, run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("easy_work")]

REGISTER = "/v2/agents/register"


def counts() -> tuple[int, int, int, int]:
    return (
        Agent.objects.count(),
        AgentKey.objects.count(),
        Account.objects.count(),
        UsedChallenge.objects.count(),
    )


def solved(speaker: Speaker, given: dict[str, Any]) -> str:
    return proof_of_work.solve(given["challenge"], speaker.key, given["difficulty"])


# -- challenges


@pytest.mark.requirement("AIM-S4.1")
@pytest.mark.parametrize("body", [b"", b"{}", b" { } "])
def test_a_challenge_is_given_to_anybody_and_nothing_is_stored(client: Client, body: bytes) -> None:
    with clock(1_800_000_000):
        response = send(client, "POST", "/v2/challenges", body)
    assert response.status_code == 201
    assert response["Cache-Control"] == "no-store"
    given = response.json()
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,400}", given.pop("challenge"))
    assert given == {
        "algorithm": "sha256-leading-zero-bits",
        "difficulty": 2,
        "expires_at": "2027-01-15T08:10:00.000Z",
        "expires_in": 600,
    }
    assert counts() == (0, 0, 0, 0)
    assert not Nonce.objects.exists()


def test_no_two_challenges_are_the_same(client: Client) -> None:
    given = {send(client, "POST", "/v2/challenges").json()["challenge"] for _ in range(20)}
    assert len(given) == 20


def test_a_challenge_is_short_whatever_the_site_is_called(client: Client, settings: Any) -> None:
    host = ".".join(["a" * 60] * 4) + ".example"
    settings.AGENTWEB = {**settings.AGENTWEB, "ORIGIN": f"https://{host}"}
    assert len(send(client, "POST", "/v2/challenges").json()["challenge"]) <= 400


@pytest.mark.parametrize("body", [b"[]", b"null", b"1", b'{"difficulty": 1}', b'{"a": 1, "b": 2}'])
def test_a_challenge_is_asked_for_with_nothing(client: Client, body: bytes) -> None:
    response = send(client, "POST", "/v2/challenges", body)
    assert code(response) == (422, "invalid_input")
    assert len(error(response)["problems"]) == (2 if b"b" in body else 1)


@pytest.mark.requirement("AIM-S26.2")
def test_challenges_of_an_address_are_limited_by_the_setting_that_the_policy_publishes(
    client: Client, settings: Any
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "CHALLENGES_PER_HOUR": 3}
    assert client.get("/v2/policy").json()["limits"]["challenges_per_hour_per_ip"] == 3
    with clock() as moving:
        answers = [send(client, "POST", "/v2/challenges") for _ in range(4)]
        assert [each.status_code for each in answers] == [201, 201, 201, 429]
        wait = error(answers[-1])["retry_after"]
        assert answers[-1]["Retry-After"] == str(wait)
        assert wait == 1_200
        moving.forward(wait)
        assert send(client, "POST", "/v2/challenges").status_code == 201


def test_what_is_wrong_with_a_request_for_a_challenge_is_read_within_the_limit_only(
    client: Client, settings: Any
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "CHALLENGES_PER_HOUR": 2}
    with clock():
        answers = [send(client, "POST", "/v2/challenges", b'{"a": 1}') for _ in range(3)]
    assert [each.status_code for each in answers] == [422, 422, 429]


def test_attempts_to_register_count_against_the_address_before_anything_is_verified(
    client: Client, settings: Any
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "ANONYMOUS_RATE": (0.001, 2)}
    with clock():
        answers = []
        for number in range(3):
            speaker = Speaker(f"newcomer-{number}")
            document = {"public_key": speaker.key, "challenge": "x", "solution": "1"}
            answers.append(speaker.post(REGISTER, document))
        body = encoded({"public_key": Speaker("newcomer").key})
        forged = Speaker("newcomer").header("POST", REGISTER, b"other")
        answers.append(send(client, "POST", REGISTER, body, forged))
    assert [code(each) for each in answers] == [
        (422, "challenge_invalid"),
        (422, "challenge_invalid"),
        (429, "rate_limited"),
        (429, "rate_limited"),
    ]


def test_addresses_of_one_ipv6_network_are_one(client: Client, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "CHALLENGES_PER_HOUR": 1}
    with clock():
        got = [
            send(Client(REMOTE_ADDR=each), "POST", "/v2/challenges").status_code
            for each in ("2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1")
        ]
    assert got == [201, 429, 201]


# -- registration


@pytest.mark.requirement("AIM-S4.2", "AIM-S11.2", "AIM-S11.4")
def test_a_key_gets_the_name_it_chose(client: Client) -> None:
    alice = Speaker("alice")
    with clock(1_800_000_000):
        response = alice.post(REGISTER, alice.registration())
        assert response.status_code == 201
        body = response.json()
        # Nothing that comes for it is before its cursor.
        registered("bobby").send(alice)
        page = alice.get(f"/v2/events?after={body['cursor']}").json()
    assert [event["type"] for event in page["events"]] == ["request"]
    raw = base64.urlsafe_b64decode(alice.key + "=")
    assert body["agent"] == {
        "name": "alice",
        "address": "alice@shop.example",
        "public_key": alice.key,
        "key_id": b64url(hashlib.sha256(raw).digest()[:16]),
        "encryption_key": body["agent"]["encryption_key"],
        "created_at": "2027-01-15T08:00:00.000Z",
        "status": "active",
    }
    assert len(body["agent"]["encryption_key"]) == 43
    assert body["existing"] is False
    assert counts() == (2, 2, 2, 2)


@pytest.mark.requirement("AIM-S11.3")
def test_a_key_without_a_name_gets_its_own(client: Client) -> None:
    alice = Speaker("alice")
    document = alice.registration()
    del document["name"]
    body = alice.post(REGISTER, document).json()
    assert body["agent"]["name"] == key_name(alice.key)
    assert body["agent"]["address"] == f"{key_name(alice.key)}@shop.example"


def test_a_key_may_ask_for_its_own_name_and_for_no_other_keys(client: Client) -> None:
    alice, bob = Speaker("alice"), Speaker("bob")
    assert code(alice.post(REGISTER, alice.registration(key_name(bob.key)))) == (422, "invalid_name")
    assert alice.post(REGISTER, alice.registration(key_name(alice.key))).status_code == 201


@pytest.mark.requirement("AIM-S4.3")
def test_the_same_registration_again_is_the_same_agent(client: Client) -> None:
    alice = Speaker("alice")
    document = alice.registration()
    first = alice.post(REGISTER, document)
    for again in (
        document,
        {"public_key": alice.key},
        {"public_key": alice.key, "name": "alice"},
        {**document, "challenge": "x"},
    ):
        response = alice.post(REGISTER, again)
        assert response.status_code == 200
        assert response.json() == {**first.json(), "existing": True}
    assert counts() == (1, 1, 1, 1)


def test_a_key_has_one_name(client: Client) -> None:
    alice = registered("alice")
    response = alice.post(REGISTER, alice.registration("somebody-else"))
    assert code(response) == (409, "key_already_registered")
    assert error(response)["details"] == {"address": "alice@shop.example"}
    assert counts() == (1, 1, 1, 1)


def test_a_name_that_is_taken_leaves_the_challenge_for_another(client: Client) -> None:
    registered("alice")
    bob = Speaker("bob")
    document = bob.registration("alice")
    response = bob.post(REGISTER, document)
    assert code(response) == (409, "name_taken")
    assert error(response)["details"] == {"reason": "taken"}
    assert counts() == (1, 1, 1, 1)
    assert code(bob.post(REGISTER, {**document, "name": "UPPER"})) == (422, "invalid_name")
    assert bob.post(REGISTER, {**document, "name": "bob-2"}).status_code == 201
    assert counts() == (2, 2, 2, 2)


def test_a_name_is_never_given_again(client: Client) -> None:
    alice = registered("alice")
    assert alice.ask("DELETE", "/v2/agents/me", {"confirm": "alice@shop.example"}).status_code == 200
    bob = Speaker("bob")
    assert code(bob.post(REGISTER, bob.registration("alice"))) == (409, "name_taken")
    record = send(client, "GET", "/v2/agents/alice").json()["agent"]
    assert (record["status"], record["public_key"], len(record["keys"])) == ("deleted", None, 1)


def test_names_that_look_alike_are_refused_where_the_site_wants_it(client: Client, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "CONFUSABLE_NAMES": True}
    registered("alice")
    other = Speaker("a1ice")
    response = other.post(REGISTER, other.registration())
    assert code(response) == (409, "name_taken")
    assert error(response)["details"] == {"reason": "confusable"}
    settings.AGENTWEB = {**settings.AGENTWEB, "CONFUSABLE_NAMES": False}
    assert other.post(REGISTER, other.registration()).status_code == 201


def test_names_from_before_the_site_compared_them_count_too(client: Client, settings: Any) -> None:
    assert settings.AGENTWEB.get("CONFUSABLE_NAMES", False) is False
    for name in ("alice-x", "a1ice-x", "bobby", k_name := key_name(Speaker("by-key").key)):
        speaker = Speaker("by-key" if name == k_name else name)
        assert speaker.post(REGISTER, speaker.registration(name)).status_code == 201
    settings.AGENTWEB = {**settings.AGENTWEB, "CONFUSABLE_NAMES": True}
    for name in ("al1ce-x", "alicex", "b0bby"):
        other = Speaker(name)
        response = other.post(REGISTER, other.registration())
        assert (code(response), error(response)["details"]) == (
            (409, "name_taken"),
            {"reason": "confusable"},
        )
    taken = Speaker("again")
    assert error(taken.post(REGISTER, taken.registration("a1ice-x")))["details"] == {"reason": "taken"}
    assert registered("carol").name == "carol"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "format"),
        ("ab", "format"),
        ("a" * 33, "format"),
        ("Alice", "format"),
        ("bob\n", "format"),
        ("bob-", "format"),
        ("b--b", "format"),
        ("1bob", "format"),
        ("xn--bcher-kva", "format"),
        ("bücher", "format"),
        ("a b c", "format"),
        ("bob\0", "format"),
        ("admin", "reserved"),
        ("self", "reserved"),
        ("register", "reserved"),
        ("shopkeeper", "reserved"),
        ("k-" + "a" * 26, "key_name"),
    ],
)
def test_names_that_may_not_be_chosen_say_why(client: Client, settings: Any, name: str, reason: str) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "RESERVED_NAMES": ["shopkeeper"]}
    alice = Speaker("alice")
    response = alice.post(REGISTER, {**alice.registration(), "name": name})
    assert code(response) == (422, "invalid_name")
    assert error(response)["details"] == {"reason": reason}
    assert error(response)["field"] == "name"


def test_the_names_of_the_service_are_reserved() -> None:
    assert {
        "admin",
        "root",
        "system",
        "support",
        "postmaster",
        "self",
        "me",
        "board",
        "all",
        "null",
    } <= RESERVED


def test_no_agent_is_called_like_an_address_beside_those_of_agents() -> None:
    """Nobody could look it up: the address that has its name answers for something else."""
    paths = [route.path.split("/") for route in ROUTES]
    beside = {
        words[len(other) - 1]
        for other in paths
        if other[-1] == "{name}"
        for words in paths
        if len(words) >= len(other) and words[: len(other) - 1] == other[:-1]
    } - {"{name}"}
    assert beside == {"me", "register"}
    for word in beside:
        with pytest.raises(NameRefusedError):
            check_name(word)


def test_every_problem_of_the_body_is_listed(client: Client) -> None:
    alice = Speaker("alice")
    response = alice.post(REGISTER, {"public_key": 1, "name": None, "solution": 5, "extra": True})
    assert code(response) == (422, "invalid_input")
    assert {each["field"] for each in error(response)["problems"]} == {
        "public_key",
        "name",
        "solution",
        "extra",
    }
    response = alice.post(REGISTER, {"public_key": alice.key})
    assert code(response) == (422, "invalid_input")
    assert [each["field"] for each in error(response)["problems"]] == ["challenge", "solution"]


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'"x"', b"{}"])
def test_a_body_that_is_no_registration_is_invalid_input(client: Client, body: bytes) -> None:
    assert code(Speaker("alice").post(REGISTER, body)) == (422, "invalid_input")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"{", "malformed_json"),
        (b'{"public_key":"a","public_key":"b"}', "duplicate_key"),
        (b'{"public_key":"\xff"}', "invalid_unicode"),
        (b'\xef\xbb\xbf{"public_key":"a"}', "invalid_unicode"),
        (b'{"a":1e400}', "number_out_of_range"),
        (b'{"a":9007199254740993}', "number_out_of_range"),
        (b"[" * 65 + b"]" * 65, "too_deep"),
    ],
)
def test_a_body_that_is_not_json_has_a_code(client: Client, body: bytes, expected: str) -> None:
    assert code(Speaker("alice").post(REGISTER, body)) == (400, expected)


# -- keys


@pytest.mark.requirement("AIM-S11.1")
@pytest.mark.parametrize(
    "weak",
    [
        bytes(32),
        b"\1" + bytes(31),
        bytes.fromhex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
        bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
        bytes.fromhex("f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43"),
    ],
    ids=["zero", "one", "minus one", "order eight", "mixed order"],
)
def test_a_weak_point_is_no_key(client: Client, weak: bytes) -> None:
    key, now = b64url(weak), 1_800_000_000
    body = encoded({"public_key": key})
    header = f'AIM key="{key}", ts="{now}", nonce="{"A" * 22}", sig="{b64url(b"1" + bytes(63))}"'
    with clock(now):
        assert code(send(client, "POST", REGISTER, body, header)) == (422, "invalid_key")
    assert not Nonce.objects.exists()


def test_the_key_that_signs_is_the_one_that_registers(client: Client) -> None:
    alice, bob = Speaker("alice"), Speaker("bob")
    assert code(alice.post(REGISTER, {**alice.registration(), "public_key": bob.key})) == (422, "invalid_key")
    for other in (alice.key + "=", f"ed25519:{alice.key}", "", alice.key[:-1]):
        assert code(alice.post(REGISTER, {**alice.registration(), "public_key": other})) == (
            422,
            "invalid_key",
        )


# -- work


def test_a_challenge_registers_one_agent(client: Client) -> None:
    alice, bob = Speaker("alice"), Speaker("bob")
    given = alice.challenge()
    body = {"challenge": given["challenge"]}
    first = {**body, "public_key": alice.key, "name": "alice", "solution": solved(alice, given)}
    assert alice.post(REGISTER, first).status_code == 201
    second = {**body, "public_key": bob.key, "name": "bob", "solution": solved(bob, given)}
    assert code(bob.post(REGISTER, second)) == (422, "challenge_used")
    assert counts() == (1, 1, 1, 1)


def test_a_solution_is_good_for_one_key(client: Client, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "CHALLENGE_DIFFICULTY": 12}
    alice, mallory = Speaker("alice"), Speaker("mallory")
    document = alice.registration()
    stolen = {**document, "public_key": mallory.key, "name": "mallory"}
    response = mallory.post(REGISTER, stolen)
    assert code(response) == (422, "solution_invalid")
    assert error(response)["details"] == {"difficulty": 12}
    assert alice.post(REGISTER, document).status_code == 201


@pytest.mark.parametrize("solution", ["", "00", "-1", "1.0", "01", "1\n", " 1", "9" * 21, "x", "1\n2"])
def test_a_solution_is_a_number_in_one_spelling(client: Client, settings: Any, solution: str) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "CHALLENGE_DIFFICULTY": 0}
    alice = Speaker("alice")
    assert code(alice.post(REGISTER, {**alice.registration(), "solution": solution})) == (
        422,
        "solution_invalid",
    )


def test_the_difficulty_is_that_of_the_time_when_the_challenge_was_given(
    client: Client, settings: Any
) -> None:
    alice = Speaker("alice")
    document = alice.registration()
    settings.AGENTWEB = {**settings.AGENTWEB, "CHALLENGE_DIFFICULTY": 24}
    assert alice.post(REGISTER, document).status_code == 201


def test_a_challenge_ends(client: Client) -> None:
    alice = Speaker("alice")
    with clock() as moving:
        document = alice.registration()
        moving.forward(599)
        late = {**document, "name": "late-one"}
        moving.forward(1)
        assert code(alice.post(REGISTER, late)) == (410, "challenge_expired")
        moving.forward(-1)
        assert alice.post(REGISTER, late).status_code == 201


def forged(**changes: Any) -> str:
    """A challenge of our own making, with a MAC that is not the site's."""
    payload = {
        "v": 1,
        "authority": challenges._short("shop.example"),
        "difficulty": 0,
        "exp": 4_000_000_000,
        "rand": "x",
    }
    encoded_payload = b64url(json.dumps({**payload, **changes}).encode())
    key = salted_hmac("agentweb.aim.challenges", "", secret="another secret", algorithm="sha256").digest()
    return f"{encoded_payload}.{b64url(hashlib.sha256(key + encoded_payload.encode()).digest())}"


def test_only_a_challenge_of_this_site_counts(client: Client, settings: Any) -> None:
    alice = Speaker("alice")
    document = alice.registration()
    payload, mac = document["challenge"].split(".")
    bad = [
        "",
        ".",
        "x",
        payload,
        f"{payload}.",
        f"{payload}.{mac}x",
        f"{payload}x.{mac}",
        f"{payload}\n.{mac}",
        "x" * 401,
        "é",
        forged(),
    ]
    for challenge in bad:
        assert code(alice.post(REGISTER, {**document, "challenge": challenge})) == (422, "challenge_invalid")
    settings.AGENTWEB = {**settings.AGENTWEB, "ORIGIN": "https://other.example"}
    alice.authority = "other.example"
    assert code(alice.post(REGISTER, document)) == (422, "challenge_invalid")


def test_a_challenge_outlives_a_change_of_the_sites_secret(client: Client, settings: Any) -> None:
    alice = Speaker("alice")
    document = alice.registration()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "n" * 50, [settings.SECRET_KEY]
    assert alice.post(REGISTER, document).status_code == 201


# -- what failed leaves nothing behind


@pytest.mark.parametrize(
    "changes",
    [
        {"solution": "x"},
        {"challenge": "x"},
        {"name": "admin"},
        {"public_key": "x"},
        {"extra": 1},
    ],
)
def test_nothing_is_stored_before_the_work_is_shown(client: Client, changes: dict[str, Any]) -> None:
    alice = Speaker("alice")
    assert alice.post(REGISTER, {**alice.registration(), **changes}).status_code == 422
    assert not Nonce.objects.exists()
    assert counts() == (0, 0, 0, 0)


def test_registrations_of_an_address_are_limited_and_those_that_fail_do_not_count(
    client: Client, settings: Any
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "REGISTRATIONS_PER_HOUR": 2}
    assert client.get("/v2/policy").json()["limits"]["registrations_per_hour_per_ip"] == 2
    with clock() as moving:
        registered("alice")
        for _ in range(3):
            other = Speaker("other")
            assert code(other.post(REGISTER, other.registration("alice"))) == (409, "name_taken")
        registered("bob")
        third = Speaker("third")
        document = third.registration()
        refused = third.post(REGISTER, document)
        assert code(refused) == (429, "rate_limited")
        assert counts() == (2, 2, 2, 2)
        wait = error(refused)["retry_after"]
        assert wait == int(refused["Retry-After"]) == 1_800
        # Whoever is an agent already asks for nothing.
        assert registered_again("alice").status_code == 200
        moving.forward(wait)
        assert third.post(REGISTER, third.registration()).status_code == 201


def registered_again(name: str) -> Any:
    speaker = Speaker(name)
    return speaker.post(REGISTER, {"public_key": speaker.key})


def test_a_registration_that_came_before_is_refused_like_any_request(client: Client) -> None:
    alice = Speaker("alice")
    body = encoded(alice.registration())
    header = alice.header("POST", REGISTER, body)
    assert send(client, "POST", REGISTER, body, header).status_code == 201
    assert code(send(client, "POST", REGISTER, body, header)) == (401, "nonce_reused")


@pytest.mark.requirement("AIM-S1.2")
def test_no_person_is_behind_an_agent(client: Client, django_user_model: Any) -> None:
    registered("alice")
    assert not django_user_model.objects.exists()


# -- races, between processes


def challenge() -> dict[str, Any]:
    return challenges.new_challenge("shop.example")


def register(name: str, key_of: str, given: dict[str, Any]) -> list[Any]:
    """One attempt of a process; its status and code."""
    speaker = Speaker(key_of)
    solution = proof_of_work.solve(given["challenge"], speaker.key, given["difficulty"])
    body = encoded(
        {"public_key": speaker.key, "name": name, "challenge": given["challenge"], "solution": solution}
    )
    request = RequestFactory().generic(
        "POST",
        REGISTER,
        body,
        "application/json",
        headers={"Authorization": speaker.header("POST", REGISTER, body)},
    )
    response = RegisterView.as_view()(request)
    document = json.loads(response.content)
    return [response.status_code, document["error"]["code"] if "error" in document else document["existing"]]


def rows() -> list[int]:
    return list(counts())


@pytest.mark.django_db(transaction=False)
def test_of_keys_that_want_one_name_at_once_one_gets_it(race_database: Database) -> None:
    given = run(race_database, "tests.aim.test_registration:easy_challenges")
    answers = race(
        race_database,
        "tests.aim.test_registration:register",
        [["wanted", f"key-{number}", each] for number, each in enumerate(given)],
    )
    assert sorted(map(str, answers)) == ["[201, False]", *["[409, 'name_taken']"] * 4]
    assert run(race_database, "tests.aim.test_registration:rows") == [1, 1, 1, 1]


@pytest.mark.django_db(transaction=False)
def test_of_keys_that_bring_one_challenge_at_once_one_is_registered(race_database: Database) -> None:
    given = run(race_database, "tests.aim.test_registration:easy_challenge")
    answers = race(
        race_database,
        "tests.aim.test_registration:register",
        [[f"agent-{number}", f"key-{number}", given] for number in range(5)],
    )
    assert sorted(map(str, answers)) == ["[201, False]", *["[422, 'challenge_used']"] * 4]
    assert run(race_database, "tests.aim.test_registration:rows") == [1, 1, 1, 1]


@pytest.mark.requirement("AIM-S4.3")
@pytest.mark.django_db(transaction=False)
def test_a_registration_that_is_sent_several_times_at_once_makes_one_agent(race_database: Database) -> None:
    given = run(race_database, "tests.aim.test_registration:easy_challenge")
    answers = race(race_database, "tests.aim.test_registration:register", [["alice", "alice", given]] * 5)
    assert sorted(map(str, answers)) == [*["[200, True]"] * 4, "[201, False]"]
    assert run(race_database, "tests.aim.test_registration:rows") == [1, 1, 1, 1]


def easy_challenges() -> list[dict[str, Any]]:
    return [easy_challenge() for _ in range(5)]


def easy_challenge() -> dict[str, Any]:
    from django.test import override_settings

    with override_settings(AGENTWEB={"ORIGIN": "https://shop.example", "CHALLENGE_DIFFICULTY": 2}):
        return challenge()
