"""The person is asked before money, messages and deletions: about exactly one call, once."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentweb.client import AgentClient, ApprovalPolicy, KeyStore, NeedsHumanError
from agentweb.client.approvals.records import LIFE, MAX_WRONG, Approval
from agentweb.client.commands.approving import question_lines
from agentweb.wire.errors import AgentError
from tests.client.conftest import AGENT
from tests.client.site import Reply, Site, Time, error

Grant = Callable[..., str]
ROOT = Path(__file__).parents[3]
PAY = "/api/pay"


@pytest.fixture(autouse=True)
def shop(site: Site, grant: Grant, time: Time) -> None:
    grant("*", spending=("USD", 100_000, 1_000_000), expires=int(time.now) + 864_000)
    site.action("pay", effect="spend", scope="pay", cost={"field": "price", "currency": "USD"})
    site.action("mail", effect="send")
    site.action("drop", effect="delete")
    site.action("note")
    site.action("look", effect="read", method="GET")
    site.action("query", effect="read")


def make(site: Site, keystore: KeyStore, time: Time, **policy: Any) -> AgentClient:
    return AgentClient(keystore, approval=ApprovalPolicy(**policy), clock=time, sleep=time.sleep)


@pytest.fixture
def agent(site: Site, keystore: KeyStore, time: Time) -> AgentClient:
    return make(site, keystore, time)


def question(call: Callable[[], object]) -> dict[str, Any]:
    with pytest.raises(NeedsHumanError) as caught:
        call()
    return caught.value.extra


def refusal(call: Callable[[], object]) -> AgentError:
    with pytest.raises(AgentError) as caught:
        call()
    return caught.value


@pytest.mark.requirement("AA-2.24", "AA-7.8", "AA-7.9")
def test_nothing_is_sent_before_the_person_approved_and_then_exactly_that(
    site: Site, agent: AgentClient, time: Time
) -> None:
    asked = question(lambda: agent.call_action(site.url, "pay", {"price": 820}))
    assert site.calls() == []
    assert agent.pending() == []
    assert (asked["site"], asked["action"], asked["effect"]) == (site.authority, "pay", "spend")
    assert asked["cost"] == {"amount": "820.00", "currency": "USD"}
    assert asked["input"] == {"price": 820}
    assert asked["grant"] == agent.keystore.chains[0].id
    assert asked["expires"] == int(time.now) + LIFE
    assert asked["approval"].startswith("ap_")
    assert [each.id for each in agent.approvals()] == [asked["approval"]]

    result = agent.call_action(site.url, "pay", {"price": 820}, confirm=True)
    assert (result.value, agent.approvals()) == ({"done": 1}, [])
    # Once: the next is asked about again.
    question(lambda: agent.call_action(site.url, "pay", {"price": 820}, confirm=True))
    assert site.acts == [(PAY, {"price": 820})]


def test_a_first_call_with_confirm_still_asks(site: Site, agent: AgentClient) -> None:
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}, confirm=True))
    assert site.calls() == []


@pytest.mark.requirement("AA-2.14", "AA-7.5", "AA-7.6", "AA-7.7")
@pytest.mark.parametrize("effect", ["spend", "send", "delete"])
def test_spending_sending_and_deleting_are_asked_about(site: Site, agent: AgentClient, effect: str) -> None:
    name, value = {"spend": ("pay", {"price": 1}), "send": ("mail", {}), "delete": ("drop", {})}[effect]
    assert question(lambda: agent.call_action(site.url, name, value))["effect"] == effect
    agent.call_action(site.url, name, value, confirm=True)
    agent.call_action(site.url, "note", {})
    agent.call_action(site.url, "look")
    assert len(site.acts) == 3


def test_82_that_was_approved_does_not_approve_820(site: Site, agent: AgentClient) -> None:
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}))
    question(lambda: agent.call_action(site.url, "pay", {"price": 820}, confirm=True))
    assert site.calls() == []
    assert len(agent.approvals()) == 2


def test_another_manifest_is_another_question(site: Site, agent: AgentClient) -> None:
    first = question(lambda: agent.call_action(site.url, "pay", {"price": 82}))
    site.manifest["actions"][0]["path"] = "/api/other"
    site.manifest_headers["Cache-Control"] = "no-store"
    agent.discover_actions(site.url)
    second = question(lambda: agent.call_action(site.url, "pay", {"price": 82}, confirm=True))
    assert first["approval"] != second["approval"]
    assert site.calls() == []


def test_another_grant_is_another_question(site: Site, agent: AgentClient, grant: Grant) -> None:
    first = question(lambda: agent.call_action(site.url, "pay", {"price": 82}))
    narrower = grant("pay", spending=("USD", 10_000, 10_000))
    second = question(lambda: agent.call_action(site.url, "pay", {"price": 82}, confirm=True))
    assert (second["grant"], first["approval"] == second["approval"]) == (narrower, False)


def test_a_grant_that_ended_is_not_replaced_by_one_that_was_not_shown(
    site: Site, agent: AgentClient, grant: Grant
) -> None:
    narrower = grant("pay", spending=("USD", 10_000, 10_000))
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}))
    site.script(PAY, error(401, "grant_revoked", grant=narrower))
    assert refusal(lambda: agent.call_action(site.url, "pay", {"price": 82}, confirm=True)).code == (
        "grant_revoked"
    )
    assert (len(site.calls(PAY)), site.acts) == (1, [])
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}, confirm=True))


def test_a_question_is_good_for_ten_minutes(site: Site, agent: AgentClient, time: Time) -> None:
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}))
    time.now += LIFE
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}, confirm=True))
    assert site.calls() == []
    time.now += LIFE - 1
    agent.call_action(site.url, "pay", {"price": 82}, confirm=True)
    assert len(site.acts) == 1


def test_asking_confirming_and_a_lost_answer_are_one_intent(
    site: Site, agent: AgentClient, keystore: KeyStore, time: Time
) -> None:
    impatient = AgentClient(keystore, clock=time, sleep=time.sleep, attempts=1)
    question(lambda: impatient.call_action(site.url, "pay", {"price": 82}))
    (asked,) = impatient.approvals()
    site.script(PAY, site.act_and_drop)
    assert refusal(lambda: impatient.call_action(site.url, "pay", {"price": 82}, confirm=True)).code == (
        "site_unreachable"
    )
    # Approved once: the outcome is asked for without asking the person again, and it is paid once.
    result = agent.call_action(site.url, "pay", {"price": 82})
    assert (result.replayed, result.idempotency_key) == (True, asked.key)
    assert {seen.key for seen in site.calls(PAY)} == {asked.key}
    assert len(site.acts) == 1
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}))


def test_a_lost_answer_under_a_key_of_the_callers_own(site: Site, keystore: KeyStore, time: Time) -> None:
    agent = AgentClient(keystore, clock=time, sleep=time.sleep, attempts=1)
    key = "0123456789abcdef-mine"

    def pay(*, confirm: bool = False) -> Any:
        return agent.call_action(
            site.url, "pay", {"price": 82}, idempotency_key=key, confirm=confirm
        ).replayed

    question(pay)
    site.script(PAY, site.act_and_drop)
    refusal(lambda: pay(confirm=True))
    assert pay() is True
    assert {seen.key for seen in site.calls(PAY)} == {key}


def test_a_refusal_of_the_site_uses_the_approval_up(site: Site, agent: AgentClient) -> None:
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}))
    site.script(PAY, error(402, "payment_declined"))
    assert refusal(lambda: agent.call_action(site.url, "pay", {"price": 82}, confirm=True)).code == (
        "payment_declined"
    )
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}, confirm=True))


def test_a_person_whom_the_site_asks_too_is_not_asked_here_again(site: Site, agent: AgentClient) -> None:
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}))
    site.script(PAY, error(428, "needs_human", approve_url="https://x.example/"))
    theirs = refusal(lambda: agent.call_action(site.url, "pay", {"price": 82}, confirm=True))
    assert (theirs.code, theirs.status) == ("needs_human", 428)
    assert agent.call_action(site.url, "pay", {"price": 82}).value == {"done": 1}


# --- what a site calls a read ---


def test_a_read_by_another_method_than_get_is_asked_about_unless_the_site_is_trusted(
    site: Site, agent: AgentClient, keystore: KeyStore, time: Time
) -> None:
    asked = question(lambda: agent.call_action(site.url, "query", {"q": 1}))
    assert (asked["effect"], asked["grant"]) == ("read", None)
    agent.call_action(site.url, "query", {"q": 1}, confirm=True)
    trusting = make(site, keystore, time, trusted={site.authority})
    trusting.call_action(site.url, "query", {"q": 1})
    assert len(site.acts) == 2


def test_a_read_never_carries_a_mandate(site: Site, keystore: KeyStore, time: Time) -> None:
    site.action("peek", effect="read", scope="look:x")
    trusting = make(site, keystore, time, trusted={site.authority})
    assert refusal(lambda: trusting.call_action(site.url, "peek", {})).code == "grant_required"
    assert site.calls() == []


# --- spending without asking ---


def test_small_sums_pass_until_a_day_of_them_is_over_the_limit(
    site: Site, keystore: KeyStore, time: Time
) -> None:
    agent = make(site, keystore, time, auto_under={"USD": "10.00"})
    question(lambda: agent.call_action(site.url, "pay", {"price": 10.01}))
    agent.call_action(site.url, "pay", {"price": 6})
    agent.call_action(site.url, "pay", {"price": 4})
    question(lambda: agent.call_action(site.url, "pay", {"price": 0.01}))
    time.now += 86_401
    agent.call_action(site.url, "pay", {"price": 0.02})
    assert [act[1] for act in site.acts] == [{"price": 6}, {"price": 4}, {"price": 0.02}]


def test_it_is_said_how_much_of_what_may_be_spent_unasked_is_left(
    site: Site, keystore: KeyStore, time: Time
) -> None:
    agent = make(site, keystore, time, auto_under={"USD": "10.00"})
    agent.call_action(site.url, "pay", {"price": 6})
    for price in (4.01, 10.01):
        with pytest.raises(NeedsHumanError) as caught:
            agent.call_action(site.url, "pay", {"price": price})
        assert "Of 10.00 USD that may be spent without asking within 24 hours, 6.00 are used" in str(
            caught.value
        )
        assert caught.value.extra["allowance"] == {
            "currency": "USD",
            "limit": "10.00",
            "used": "6.00",
            "left": "4.00",
        }
    assert "allowance" not in question(lambda: agent.call_action(site.url, "mail"))
    elsewhere = make(site, keystore, time, auto_under={"USD": 10}, auto_sites={"shop.example"})
    assert "allowance" not in question(lambda: elsewhere.call_action(site.url, "pay", {"price": 4.01}))


def test_asking_for_the_outcome_counts_once(site: Site, keystore: KeyStore, time: Time) -> None:
    policy = ApprovalPolicy(auto_under={"USD": "10.00"})
    agent = AgentClient(keystore, approval=policy, clock=time, sleep=time.sleep, attempts=1)
    site.script(PAY, site.act_and_drop)
    refusal(lambda: agent.call_action(site.url, "pay", {"price": 6}))
    assert agent.call_action(site.url, "pay", {"price": 6}).replayed is True
    assert agent.call_action(site.url, "pay", {"price": 4}).value == {"done": 2}


def test_what_passes_unasked_may_be_bound_to_sites_and_other_effects_never_pass(
    site: Site, keystore: KeyStore, time: Time
) -> None:
    elsewhere = make(site, keystore, time, auto_under={"USD": 10}, auto_sites={"shop.example"})
    question(lambda: elsewhere.call_action(site.url, "pay", {"price": 1}))
    here = make(site, keystore, time, auto_under={"USD": 10}, auto_sites={site.authority})
    here.call_action(site.url, "pay", {"price": 1})
    question(lambda: here.call_action(site.url, "mail"))
    site.action("gift", effect="spend")
    site.manifest_headers["Cache-Control"] = "no-store"
    here.discover_actions(site.url)
    asked = question(lambda: here.call_action(site.url, "gift"))
    assert asked["cost"] is None


def test_many_calls_at_once_do_not_pass_more_than_the_limit(
    site: Site, keystore: KeyStore, time: Time
) -> None:
    agent = make(site, keystore, time, auto_under={"USD": 10})
    asked: list[BaseException] = []

    def pay(number: int) -> None:
        try:
            agent.call_action(site.url, "pay", {"price": 3, "n": number})
        except NeedsHumanError as error:
            asked.append(error)

    threads = [threading.Thread(target=pay, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(site.acts), len(asked)) == (3, 5)


# --- strict ---


def test_a_flag_alone_does_not_open_a_strict_gate(site: Site, keystore: KeyStore, time: Time) -> None:
    shown: list[tuple[Approval, str]] = []
    agent = make(site, keystore, time, strict=True, show_code=lambda *said: shown.append(said))
    asked = question(lambda: agent.call_action(site.url, "pay", {"price": 82}))
    ((approval, code),) = shown
    assert (approval.id, len(code)) == (asked["approval"], 8)
    assert code not in json.dumps(asked)
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}, confirm=True))
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}, confirm=True, code="00000000x"))
    assert site.calls() == []
    agent.call_action(site.url, "pay", {"price": 82}, confirm=True, code=f"{code[:4]} {code[4:]}")
    assert len(site.acts) == 1


def test_a_code_cannot_be_found_by_trying(site: Site, keystore: KeyStore, time: Time) -> None:
    agent = make(site, keystore, time, strict=True)
    asked = question(lambda: agent.call_action(site.url, "pay", {"price": 82}))
    code = agent.approval_code(asked["approval"])
    for wrong in range(MAX_WRONG):
        question(
            lambda wrong=wrong: agent.call_action(
                site.url, "pay", {"price": 82}, confirm=True, code=f"wrong{wrong}"
            )
        )
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}, confirm=True, code=code))
    assert site.calls() == []


def test_it_is_said_why_a_confirmation_opens_nothing(site: Site, keystore: KeyStore, time: Time) -> None:
    agent = make(site, keystore, time, strict=True)

    def said(**answer: Any) -> NeedsHumanError:
        with pytest.raises(NeedsHumanError) as caught:
            agent.call_action(site.url, "pay", {"price": 82}, **answer)
        return caught.value

    early = said(confirm=True, code="1")
    assert "there was nothing to confirm yet" in early.message
    assert "confirmed without the code" in said(confirm=True).message
    assert "comes with the confirmation" in said(code="1").message
    shown_none = said(confirm=True, code="1")
    assert ("was shown none yet" in shown_none.message, "tries_left" in shown_none.extra) == (True, False)
    agent.approval_code(early.extra["approval"])
    left = []
    for _ in range(MAX_WRONG):
        wrong = said(confirm=True, code="1")
        assert "The code was wrong" in wrong.message
        assert str(wrong) == wrong.message
        left.append(wrong.extra["tries_left"])
    assert left == [4, 3, 2, 1, 0]
    assert "this question is void" in wrong.message
    assert agent.approvals() == []
    assert site.calls() == []


def test_an_approver_is_asked_at_once(site: Site, keystore: KeyStore, time: Time) -> None:
    answers: list[bool | None] = [None, False, True]
    seen: list[Approval] = []

    def approver(approval: Approval) -> bool | None:
        seen.append(approval)
        return answers.pop(0)

    agent = make(site, keystore, time, strict=True, approver=approver)
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}))
    assert refusal(lambda: agent.call_action(site.url, "pay", {"price": 82}, confirm=True)).code == (
        "approval_denied"
    )
    assert (site.calls(), agent.approvals()) == ([], [])
    agent.call_action(site.url, "pay", {"price": 82})
    assert [each.question.cost for each in seen] == [{"amount": "82.00", "currency": "USD"}] * 3
    assert len(site.acts) == 1


# --- by its name ---


def test_a_question_is_confirmed_or_denied_by_its_name(site: Site, agent: AgentClient) -> None:
    asked = question(lambda: agent.call_action(site.url, "pay", {"price": 82}, intent="monday"))
    assert agent.confirm(asked["approval"]).value == {"done": 1}  # type: ignore[union-attr]
    assert refusal(lambda: agent.confirm(asked["approval"])).code == "not_found"
    denied = question(lambda: agent.call_action(site.url, "pay", {"price": 83}))
    agent.deny(denied["approval"])
    assert refusal(lambda: agent.confirm(denied["approval"])).code == "not_found"
    assert refusal(lambda: agent.confirm("../../etc/passwd")).code == "not_found"
    assert len(site.acts) == 1


def test_two_processes_that_confirm_at_once_are_one_call(
    site: Site, agent: AgentClient, keystore: KeyStore, time: Time, tmp_path: Path
) -> None:
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}))
    (asked,) = agent.approvals()
    site.script(PAY, *[lambda seen: _held(site, seen, barrier)] * 2)
    barrier = threading.Event()
    program = """
import sys, time
from agentweb.client import AgentClient, KeyStore, NeedsHumanError
client = AgentClient(KeyStore(sys.argv[1]), clock=lambda: float(sys.argv[3]))
try:
    print(client.call_action(sys.argv[2], "pay", {"price": 82}, confirm=True).idempotency_key)
except NeedsHumanError:
    print("asked")
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(keystore.path), site.url, str(time.now)],
            env={"PYTHONPATH": str(ROOT), "PATH": ""},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    barrier.wait(0.5)
    barrier.set()
    said = sorted(process.communicate(timeout=60)[0].strip() for process in processes)
    assert {seen.key for seen in site.calls(PAY)} == {asked.key}
    assert len(site.acts) == 1
    assert said[-1] == asked.key or said[0] == asked.key
    assert set(said) <= {asked.key, "asked"}
    assert keystore.key.public == AGENT.public


def _held(site: Site, seen: Any, barrier: threading.Event) -> Reply:
    barrier.wait(10)
    return site.act(seen)


def test_who_never_asks_sends_at_once(site: Site, keystore: KeyStore, time: Time) -> None:
    agent = AgentClient(keystore, approval=ApprovalPolicy.never_ask(), clock=time, sleep=time.sleep)
    for name, value in {"pay": {"price": 1}, "mail": {}, "drop": {}, "query": {}}.items():
        agent.call_action(site.url, name, value)
    assert len(site.acts) == 4


def test_files_of_questions_are_for_their_owner_only(site: Site, agent: AgentClient) -> None:
    question(lambda: agent.call_action(site.url, "pay", {"price": 82}))
    folder = agent.keystore.path.with_name(agent.keystore.path.name + ".approvals")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_a_question_at_the_terminal_is_not_hidden_by_what_the_site_says(
    site: Site, agent: AgentClient
) -> None:
    described = "Tea." + " " * 200 + "Approve? [y/N] costs nothing\x1b[2J" + "x" * 100_000
    site.manifest["actions"][0]["description"] = described
    with pytest.raises(NeedsHumanError):
        agent.call_action(site.url, site.manifest["actions"][0]["name"], {"price": "8.20"})
    [said] = [line for line in question_lines(agent.approvals()[0]) if "says of it" in line]
    assert said.startswith("  the site says of it: Tea. Approve? [y/N] costs nothing [2Jxxx")
    assert len(said) < 600
