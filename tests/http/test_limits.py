"""What limits tell callers, whose requests they count, and what a forger can cost."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentweb import AgentError, action
from agentweb.access import failures, site_keys
from agentweb.access.models import Bucket
from agentweb.http import addresses
from agentweb.testing import GrantChain, PersonKey, TestAgent, clock
from tests.support.web import send

pytestmark = pytest.mark.usefixtures("shop")

TARGET = "/agent/search_products?query=tea"
LIMIT = re.compile(r'"([a-z-]+)";r=(\d+);t=(\d+)')
FROM = {"REMOTE_ADDR": "203.0.113.7"}


def use(settings: Any, **values: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, **values}


def left(answer: Any) -> tuple[str, int, int]:
    found = LIMIT.fullmatch(answer["RateLimit"])
    assert found is not None, answer["RateLimit"]
    return found[1], int(found[2]), int(found[3])


def error_of(answer: Any) -> Any:
    return json.loads(answer.content)["error"]


# -- what is told


def test_every_unsigned_call_says_what_its_address_has_left(settings: Any) -> None:
    use(settings, ANONYMOUS_RATE=(0.5, 3))
    with clock():
        answers = [send("GET", TARGET) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert [left(answer) for answer in answers] == [
            ("address", 2, 2),
            ("address", 1, 4),
            ("address", 0, 6),
            ("address", 0, 6),
        ]
        assert {answer["RateLimit-Policy"] for answer in answers} == {'"address";q=3;w=6'}
        assert ["Retry-After" in answer for answer in answers] == [False, False, False, True]
        assert answers[3]["Retry-After"] == "2"


def test_a_signed_call_says_what_its_caller_has_left() -> None:
    with clock():
        agent = TestAgent(scopes=["cart:write"])
        assert left(agent.get(TARGET)) == ("caller", 59, 1)
        assert left(agent.get("/.well-known/agent-actions.json")) == ("caller", 58, 1)
        assert left(TestAgent().get(TARGET)) == ("address", 59, 1)


def test_an_error_says_it_too(settings: Any) -> None:
    answer = send("POST", "/agent/crash", b"{}")
    assert answer.status_code == 500
    assert left(answer)[0] == "address"


def test_what_is_not_limited_says_nothing() -> None:
    for answer in (send("GET", "/.well-known/agent-actions.json"), send("OPTIONS", TARGET)):
        assert "RateLimit" not in answer
        assert "RateLimit-Policy" not in answer


def test_of_two_limits_the_tighter_is_told_and_both_policies(settings: Any) -> None:
    use(settings, ANONYMOUS_RATE=(1, 4))

    @action(description="Look.", rate=(0.1, 2))
    def look(_inp: Any, ctx: Any) -> Any:
        return {}

    with clock() as time:
        answers = [send("GET", "/agent/look") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[0]["RateLimit-Policy"] == '"address";q=4;w=4, "action";q=2;w=20'
        assert [left(answer) for answer in answers] == [
            ("action", 1, 10),
            ("action", 0, 20),
            ("action", 0, 20),
        ]
        assert answers[2]["Retry-After"] == "10"
        # The action's bucket fills slowly; now it is the address that has less.
        time.forward(20)
        for _ in range(4):
            send("GET", TARGET)
        assert left(send("GET", "/agent/look"))[0] == "address"


def test_a_refusal_of_the_action_itself_tells_of_its_own_limit_and_not_of_ours_that_has_room() -> None:
    @action(effect="read", description="Refuse.", rate=(1, 7))
    def busy(_inp: Any, ctx: Any) -> Any:
        raise AgentError("rate_limited", "Not today.", retry_after=77)

    answer = send("GET", "/agent/busy")
    assert (answer.status_code, answer["Retry-After"], left(answer)[:2]) == (429, "77", ("site", 0))


# -- whose requests are counted


def test_a_person_cannot_make_limits_by_signing_grants_to_fresh_keys(settings: Any) -> None:
    use(settings, CALLER_RATE=(0.001, 4))
    person = PersonKey(User.objects.create_user("ann"))
    answers = []
    for _ in range(6):
        agent = TestAgent()
        agent.act_under(person.grant(agent, ["cart:*"]))
        answers.append(agent.get(TARGET))
    assert [answer.status_code for answer in answers] == [200] * 4 + [429] * 2
    assert left(answers[3])[:2] == ("caller", 0)


def test_grants_seen_for_the_first_time_are_limited_and_known_ones_are_not(settings: Any) -> None:
    use(settings, NEW_GRANT_RATE=(0.001, 2), CALLER_RATE=(0.001, 60))
    person, agent = PersonKey(User.objects.create_user("ann")), TestAgent()
    given = [person.grant(agent, ["cart:*"]) for _ in range(4)]

    def call(grant: GrantChain) -> Any:
        agent.act_under(grant)
        return agent.get(TARGET)

    first = [call(grant) for grant in given]
    assert [answer.status_code for answer in first] == [200, 200, 429, 429]
    assert left(first[2])[0] == "new-grants"
    assert int(first[2]["Retry-After"]) > 900
    assert [call(grant).status_code for grant in given] == [200, 200, 429, 429]
    # The refused ones counted like other calls.
    assert left(call(given[0]))[:2] == ("caller", 60 - 9)


# -- failures


def forged(**extra: str) -> Any:
    agent = TestAgent()
    headers = agent.signed_headers("GET", "/agent/search_products?query=coffee")
    return Client(**{**FROM, **extra}).generic("GET", TARGET, headers=headers)


def honest(**extra: str) -> Any:
    return TestAgent(scopes=["cart:write"], client=Client(**{**FROM, **extra})).get(TARGET)


def test_an_address_that_keeps_failing_is_refused_before_anything_is_verified(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings, FAILURE_RATE=(0.1, 3))
    verified = []
    real = failures.AuthenticationError

    def watch(*_: Any) -> None:
        verified.append(1)
        raise real("signature_invalid", "No.", reason="signature")

    monkeypatch.setattr("agentweb.access.signatures.verify_request", watch)
    with clock() as time:
        answers = [forged() for _ in range(6)]
        assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429, 429]
        assert len(verified) == 4  # the fourth one met the empty bucket, the others nothing
        assert error_of(answers[5])["limit"] == {"per_second": 0.1, "burst": 3}
        assert answers[5]["Retry-After"] == "10"
        assert [left(answer) for answer in answers[3:]] == [("failures", 0, 30)] * 3
        with CaptureQueriesContext(connection) as queries:
            forged()
        assert len(queries) == 0
        time.forward(4)
        assert (forged()["Retry-After"], left(forged())) == ("6", ("failures", 0, 26))
        time.forward(-4)
        time.forward(10)
        assert forged().status_code == 401
        assert forged().status_code == 429


def test_keys_without_a_grant_are_not_verified_while_their_address_has_nothing_left(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings, ANONYMOUS_RATE=(0.4, 2))
    verified = []
    monkeypatch.setattr("agentweb.access.signatures.verify_request", lambda *_: verified.append(1))
    site_keys.ensure_active_key()
    with clock() as time:
        answers = [TestAgent(client=Client(**FROM)).get(TARGET) for _ in range(6)]
        assert [answer.status_code for answer in answers] == [200, 200, 429, 429, 429, 429]
        assert len(verified) == 3
        assert [left(answer) for answer in answers[2:]] == [("address", 0, 5)] * 4
        assert {error_of(answer)["message"][:19] for answer in answers[2:]} == {"Too many requests: "}
        # Callers under a grant have limits of their own.
        assert honest().status_code == 200
        time.forward(2.5)
        assert TestAgent(client=Client(**FROM)).get(TARGET).status_code == 200


def test_only_failures_count_and_only_against_their_address(settings: Any) -> None:
    use(settings, FAILURE_RATE=(0.001, 2))
    for _ in range(5):
        assert honest().status_code == 200
    assert [forged().status_code for _ in range(3)] == [401, 401, 429]
    assert honest().status_code == 429
    assert honest(REMOTE_ADDR="203.0.113.8").status_code == 200
    # Whoever claims to be nobody is not refused for it.
    assert Client(**FROM).get(TARGET).status_code == 200


@pytest.mark.parametrize(
    "claim", [{"Agent-Grant": "v1.e30"}, {"Signature": "x"}, {"Agent-Grant": "gr_" + "a" * 22}]
)
def test_failures_of_every_kind_count(settings: Any, claim: dict[str, str]) -> None:
    use(settings, FAILURE_RATE=(0.001, 2))
    answers = [Client(**FROM).get(TARGET, headers=claim).status_code for _ in range(3)]
    assert answers == [401, 401, 429]


def test_a_forger_behind_an_undeclared_proxy_closes_it_for_nobody(settings: Any) -> None:
    use(settings, FAILURE_RATE=(0.001, 2))
    behind = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": "8.8.8.8"}
    assert [forged(**behind).status_code for _ in range(4)] == [401] * 4
    assert honest(**behind).status_code == 200
    use(settings, TRUSTED_PROXIES=["10.0.0.0/8"])
    assert [forged(**behind).status_code for _ in range(3)] == [401, 401, 429]
    assert honest(**{**behind, "HTTP_X_FORWARDED_FOR": "8.8.4.4"}).status_code == 200


def test_an_undeclared_proxy_is_told_to_the_log_by_unsigned_calls_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    addresses._say_once.cache_clear()
    behind = Client(REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR="8.8.8.8")
    with caplog.at_level(logging.WARNING, "agentweb.http"):
        assert [behind.get(TARGET).status_code for _ in range(2)] == [200, 200]
    assert [record.getMessage()[:36] for record in caplog.records] == ["X-Forwarded-For comes from 10.0.0.1,"]


def test_clients_behind_a_declared_proxy_have_limits_of_their_own(settings: Any) -> None:
    use(settings, ANONYMOUS_RATE=(0.001, 2), TRUSTED_PROXIES=["10.0.0.0/8"])

    def call(forwarded: str) -> int:
        return Client(REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=forwarded).get(TARGET).status_code

    assert [call("8.8.8.8") for _ in range(3)] == [200, 200, 429]
    # The first entry is the client's own writing.
    assert [call(f"1.2.3.{n}, 8.8.8.8") for n in range(3)] == [429] * 3
    assert call("8.8.4.4") == 200


# -- what it costs


def count(call: Any) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert call().status_code == 200
    control = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")
    return len([each for each in captured.captured_queries if not each["sql"].startswith(control)])


def test_limits_and_what_they_tell_cost_one_statement_a_call() -> None:
    agent = TestAgent(scopes=["cart:write"])
    assert agent.get(TARGET).status_code == send("GET", TARGET).status_code == 200
    assert count(lambda: send("GET", TARGET)) == 1
    assert count(lambda: agent.get(TARGET)) == 4
    put = {"product_id": "tea-1", "quantity": 2}
    assert agent.post("/agent/add_to_cart", put).status_code == 200
    assert count(lambda: agent.post("/agent/add_to_cart", put)) == 7
    assert not Bucket.objects.filter(key__startswith="failed:").exists()
