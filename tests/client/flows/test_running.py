"""Flows at a site over HTTP: types kept, the failing step named, nothing done twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentweb.client import AgentClient, ApprovalPolicy, KeyStore, NeedsHumanError
from agentweb.client.flows.plan import FlowPlan
from agentweb.client.invoking import ActionResult
from agentweb.wire.errors import AgentError
from tests.client.site import Reply, Seen, Site, Time, error

Grant = Callable[..., str]
ROOT = Path(__file__).parents[3]
BUY = {"query": "paper", "quantity": 2}
STEPS = [
    {"action": "search_products", "with": {"query": "$input.query"}},
    {"action": "add_to_cart", "with": {"product_id": "$steps.0.items.0.id", "quantity": "$input.quantity"}},
    {"action": "checkout", "with": {"cart_id": "$steps.1.cart_id"}},
]


@pytest.fixture(autouse=True)
def shop(site: Site, grant: Grant) -> None:
    grant("cart:write")
    grant("checkout", spending=("USD", 100_00, 1000_00))
    site.action(
        "search_products",
        effect="read",
        method="GET",
        input={"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}},
    )
    site.action(
        "add_to_cart",
        scope="cart:write",
        input={
            "type": "object",
            "required": ["product_id", "quantity"],
            "properties": {
                "product_id": {"type": "string"},
                "quantity": {"type": "integer", "minimum": 1, "maximum": 20},
            },
        },
    )
    site.action("checkout", effect="spend", scope="checkout", cost={"amount": 25, "currency": "USD"})
    site.manifest["flows"] = [{"name": "buy_product", "steps": STEPS}]
    site.script("/api/search_products", *[Reply(200, {"items": [{"id": "sku-1", "n": 1.50}]})] * 5)
    site.script("/api/add_to_cart", *[lambda seen: acted(site, seen, {"cart_id": "ct_1"})] * 5)


def acted(site: Site, seen: Seen, value: Any) -> Reply:
    if seen.key not in site.kept:
        site.acts.append((seen.path, seen.json))
        site.kept[str(seen.key)] = Reply(200, value)
    return site.kept[str(seen.key)]


@pytest.fixture
def asking(keystore: KeyStore, time: Time) -> AgentClient:
    return AgentClient(keystore, clock=time, sleep=time.sleep, attempts=1)


def refusal(call: Callable[[], object]) -> AgentError:
    with pytest.raises(AgentError) as caught:
        call()
    return caught.value


@pytest.mark.requirement("AA-2.17", "AA-2.18", "AA-2.19", "AA-7.10")
def test_the_steps_run_one_after_the_other_with_types_kept(site: Site, client: AgentClient) -> None:
    result = client.run_flow(site.url, "buy_product", BUY)
    assert result.value == {"done": 2}
    assert result.outputs[1:] == ({"cart_id": "ct_1"}, {"done": 2})
    assert [seen.path for seen in site.calls()] == [
        "/api/search_products?query=paper",
        "/api/add_to_cart",
        "/api/checkout",
    ]
    assert site.acts == [
        ("/api/add_to_cart", {"product_id": "sku-1", "quantity": 2}),
        ("/api/checkout", {"cart_id": "ct_1"}),
    ]
    assert [seen.key for seen in site.calls()] == [None, f"{result.run}:1", f"{result.run}:2"]
    # The write under the grant that cannot spend.
    grants = [seen.headers.get("agent-grant") for seen in site.calls()]
    assert grants[0] is None
    assert grants[1] != grants[2]
    assert client.runs() == []


def test_the_input_follows_from_the_steps_and_is_checked_before_the_first(
    site: Site, client: AgentClient
) -> None:
    caught = refusal(lambda: client.run_flow(site.url, "buy_product", {"quantity": 21, "more": 1}))
    assert caught.problems is not None
    assert [(each["pointer"], each["code"]) for each in caught.problems] == [
        ("/more", "unknown_field"),
        ("/quantity", "maximum"),
        ("/query", "required"),
    ]
    assert (site.calls(), client.runs()) == ([], [])


@pytest.mark.requirement("AA-7.11", "AA-7.12")
def test_an_error_names_its_step_and_what_was_completed(site: Site, client: AgentClient) -> None:
    site.script("/api/checkout", error(409, "out_of_stock", left=1))
    caught = refusal(lambda: client.run_flow(site.url, "buy_product", BUY))
    body = json.loads(json.dumps(caught.as_dict(), default=str))
    resume = body.pop("resume")
    assert body == {
        "code": "out_of_stock",
        "message": "It is out_of_stock.",
        "left": 1,
        "flow": "buy_product",
        "step": 2,
        "action": "checkout",
        "completed": [
            {"step": 0, "action": "search_products", "output": {"items": [{"id": "sku-1", "n": "1.5"}]}},
            {"step": 1, "action": "add_to_cart", "output": {"cart_id": "ct_1"}},
        ],
    }
    manifest = client.discover_actions(site.url)
    assert (resume["from"], resume["manifest"]) == (2, manifest.digest)

    before = len(site.calls())
    result = client.run_flow(site.url, "buy_product", resume=resume)
    # The first two steps are not done again, and the refused one is meant anew: another key.
    assert [seen.path for seen in site.calls()[before:]] == ["/api/checkout"]
    assert [seen.key for seen in site.calls("/api/checkout")] == [f"{result.run}:2", f"{result.run}:2.1"]
    assert client.runs() == []
    assert refusal(lambda: client.run_flow(site.url, "buy_product", resume=resume)).code == "not_found"


def test_a_refused_flow_that_is_called_again_begins_anew(site: Site, client: AgentClient) -> None:
    site.script("/api/add_to_cart", error(409, "gone"))
    site.scripts["/api/add_to_cart"].rotate(1)
    assert refusal(lambda: client.run_flow(site.url, "buy_product", BUY)).extra["step"] == 1
    client.run_flow(site.url, "buy_product", BUY)
    assert len(site.calls("/api/search_products")) == 2


def test_a_missing_reference_names_itself_its_step_and_what_exists(site: Site, client: AgentClient) -> None:
    site.scripts["/api/search_products"].clear()
    site.script("/api/search_products", Reply(200, {"items": []}))
    caught = refusal(lambda: client.run_flow(site.url, "buy_product", BUY))
    assert (caught.code, caught.extra["reference"]) == ("flow_reference_missing", "$steps.0.items.0.id")
    assert (caught.extra["step"], caught.extra["found"]) == (1, "$steps.0.items")
    assert caught.extra["completed"] == [{"step": 0, "action": "search_products", "output": {"items": []}}]


def test_a_lost_answer_is_asked_for_by_the_same_flow_and_is_not_paid_twice(
    site: Site, asking: AgentClient, keystore: KeyStore, time: Time
) -> None:
    client = AgentClient(
        keystore, approval=ApprovalPolicy.never_ask(), clock=time, sleep=time.sleep, attempts=1
    )
    site.script("/api/checkout", site.act_and_drop)
    caught = refusal(lambda: client.run_flow(site.url, "buy_product", BUY))
    assert (caught.code, caught.extra["step"]) == ("site_unreachable", 2)
    result = client.run_flow(site.url, "buy_product", BUY)
    assert result.run == caught.extra["resume"]["run"]
    assert {seen.key for seen in site.calls("/api/checkout")} == {f"{result.run}:2"}
    assert [path for path, _ in site.acts] == ["/api/add_to_cart", "/api/checkout"]


def test_a_killed_process_is_gone_on_with(site: Site, keystore: KeyStore, time: Time) -> None:
    never = ApprovalPolicy.never_ask()
    killed: list[Any] = []

    def act_and_kill(seen: Seen) -> Reply:
        reply = site.act(seen)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        killed.append(seen.key)
        return reply

    site.script("/api/checkout", act_and_kill)
    program = """
import sys
from agentweb.client import AgentClient, ApprovalPolicy, KeyStore
client = AgentClient(
    KeyStore(sys.argv[1]), approval=ApprovalPolicy.never_ask(), clock=lambda: float(sys.argv[3])
)
client.run_flow(sys.argv[2], "buy_product", {"query": "paper", "quantity": 2})
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(keystore.path), site.url, str(time.now)],
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    process.wait(timeout=60)
    with AgentClient(keystore, approval=never, clock=time, sleep=time.sleep) as client:
        (run,) = client.runs()
        assert (run.flow, len(run.outputs), run.is_open) == ("buy_product", 2, True)
        result = client.run_flow(site.url, "buy_product", BUY)
    assert killed == [f"{result.run}:2"]
    assert len(site.calls("/api/search_products")) == len(site.calls("/api/add_to_cart")) == 1
    assert [path for path, _ in site.acts] == ["/api/add_to_cart", "/api/checkout"]


@pytest.mark.requirement("AA-7.10")
def test_a_person_is_asked_in_the_middle_and_the_flow_goes_on(site: Site, asking: AgentClient) -> None:
    with pytest.raises(NeedsHumanError) as caught:
        asking.run_flow(site.url, "buy_product", BUY, confirm=True)
    asked = caught.value.extra
    assert (asked["flow"], asked["step"], asked["action"]) == ("buy_product", 2, "checkout")
    assert asked["cost"] == {"amount": "25.00", "currency": "USD"}
    assert [each["step"] for each in asked["completed"]] == [0, 1]
    assert site.calls("/api/checkout") == []
    # Without a word the question stands.
    with pytest.raises(NeedsHumanError):
        asking.run_flow(site.url, "buy_product", resume=asked["resume"])
    result = asking.run_flow(site.url, "buy_product", resume=asked["resume"], confirm=True)
    assert (result.run, len(site.calls("/api/add_to_cart"))) == (asked["resume"]["run"], 1)
    assert [seen.key for seen in site.calls("/api/checkout")] == [f"{result.run}:2"]


def test_the_same_flow_with_confirm_and_the_question_by_its_name_go_on_too(
    site: Site, asking: AgentClient
) -> None:
    with pytest.raises(NeedsHumanError):
        asking.run_flow(site.url, "buy_product", BUY)
    asking.run_flow(site.url, "buy_product", BUY, confirm=True)
    with pytest.raises(NeedsHumanError) as caught:
        asking.run_flow(site.url, "buy_product", BUY)
    asking.confirm(caught.value.extra["approval"])
    assert len(site.calls("/api/checkout")) == len(site.calls("/api/add_to_cart")) == 2


def test_an_answer_that_was_lost_after_an_approval_is_not_asked_about_again(
    site: Site, asking: AgentClient
) -> None:
    with pytest.raises(NeedsHumanError):
        asking.run_flow(site.url, "buy_product", BUY)
    site.script("/api/checkout", site.act_and_drop)
    caught = refusal(lambda: asking.run_flow(site.url, "buy_product", BUY, confirm=True))
    assert caught.code == "site_unreachable"
    result = asking.run_flow(site.url, "buy_product", BUY)
    assert {seen.key for seen in site.calls("/api/checkout")} == {f"{result.run}:2"}
    assert len(site.acts) == 2


def test_a_run_does_not_go_on_under_another_manifest(site: Site, asking: AgentClient) -> None:
    with pytest.raises(NeedsHumanError) as caught:
        asking.run_flow(site.url, "buy_product", BUY)
    site.manifest["actions"][2]["cost"]["amount"] = 26
    before = len(site.calls())
    changed = refusal(
        lambda: asking.run_flow(site.url, "buy_product", resume=caught.value.extra["resume"], confirm=True)
    )
    assert (changed.code, changed.extra["step"], len(changed.extra["completed"])) == (
        "manifest_changed",
        2,
        2,
    )
    assert len(site.calls()) == before
    with pytest.raises(NeedsHumanError):
        asking.run_flow(site.url, "buy_product", BUY, new_intent=True)


def test_missing_grants_are_found_before_the_first_step(
    site: Site, client: AgentClient, keystore: KeyStore
) -> None:
    for chain in keystore.chains:
        keystore.remove_grant(chain.id)
    caught = refusal(lambda: client.run_flow(site.url, "buy_product", BUY))
    assert (caught.code, caught.extra["flow"], caught.extra["step"]) == ("grant_required", "buy_product", 0)
    request = caught.extra["grant_request"]
    assert request["scopes"] == ["cart:write", "checkout"]
    assert request["mandate"] == {"currency": "USD", "per_tx": "25.00", "total": "25.00"}
    assert site.calls() == []


def test_steps_that_together_cost_more_than_is_left_do_not_begin(
    site: Site, client: AgentClient, grant: Grant, keystore: KeyStore
) -> None:
    keystore.remove_grant(keystore.chains[1].id)
    grant("checkout", spending=("USD", 30_00, 40_00))
    site.manifest["flows"] = [{"name": "twice", "steps": [{"action": "checkout"}, {"action": "checkout"}]}]
    assert client.plan_flow(site.url, "twice").most == {"USD": "50.00"}
    assert refusal(lambda: client.run_flow(site.url, "twice")).code == "grant_required"
    assert site.calls() == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"items": []}, "items is an empty list. That is what step 0 (search_products) answered: it found nothing."),
        ({"items": [{}]}, "items.0 is an object, and has no such member. That is what step 0 (search_products)"),
        ({"items": None}, "$steps.0.items is null. "),
        ({"items": "none"}, "$steps.0.items is a single value, and has no members. "),
    ],
    ids=["empty", "object", "null", "text"],
)  # fmt: skip
def test_it_is_said_which_step_answered_what_the_next_cannot_use(
    site: Site, client: AgentClient, answer: Any, said: str
) -> None:
    site.scripts["/api/search_products"].clear()
    site.script("/api/search_products", Reply(200, answer))
    caught = refusal(lambda: client.run_flow(site.url, "buy_product", BUY))
    assert (caught.code, caught.extra["step"]) == ("flow_reference_missing", 1)
    assert said in caught.message


def test_the_plan_and_each_step_are_told(site: Site, client: AgentClient) -> None:
    told: list[Any] = []

    class Told:
        def planned(self, plan: FlowPlan) -> None:
            told.append((plan.most, plan.unknown, len(plan.steps)))

        def begins(self, number: int, action: str) -> None:
            told.append((number, action))

        def ended(self, number: int, result: ActionResult) -> None:
            told.append(number)

    client.run_flow(site.url, "buy_product", BUY, progress=Told())
    assert told == [
        ({"USD": "25.00"}, (), 3),
        (0, "search_products"),
        0,
        (1, "add_to_cart"),
        1,
        (2, "checkout"),
        2,
    ]


def test_prices_that_stand_in_the_input_are_known_beforehand(site: Site, client: AgentClient) -> None:
    site.action("pay", effect="spend", cost={"field": "price", "currency": "USD"})
    site.manifest["flows"] = [
        {"name": "known", "steps": [{"action": "pay", "with": {"price": "$input.price"}}]},
        {
            "name": "unknown",
            "steps": [
                {"action": "search_products", "with": {"query": "a"}},
                {"action": "pay", "with": {"price": "$steps.0.total"}},
            ],
        },
    ]
    assert client.plan_flow(site.url, "known", {"price": "19.99"}).most == {"USD": "19.99"}
    unknown = client.plan_flow(site.url, "unknown")
    assert (unknown.most, unknown.unknown) == ({}, (1,))


def test_optional_references_literals_and_the_output_of_a_flow(site: Site, client: AgentClient) -> None:
    site.action("note", input={})
    site.manifest["flows"] = [
        {
            "name": "keep",
            "steps": [
                {
                    "action": "note",
                    "with": {"price": "$$9.99", "gone": "$input.gone?", "list": ["$input.n", None]},
                }
            ],
            "output": {"n": "$input.n", "said": "$steps.0.done"},
        }
    ]
    assert client.run_flow(site.url, "keep", {"n": 5}).value == {"n": 5, "said": 1}
    assert site.acts == [("/api/note", {"price": "$9.99", "list": [5, None]})]


@pytest.mark.requirement("AA-2.20")
@pytest.mark.parametrize(
    ("flow", "code"),
    [
        ({"name": "f", "steps": [{"action": "nothing"}]}, "unknown_action"),
        ({"name": "f", "steps": [{"action": "checkout", "with": {"x": "$steps.0.y"}}]}, "not_earlier"),
        ({"name": "f", "steps": [{"action": "checkout", "with": {"x": "$nothing"}}]}, "reference"),
        ({"name": "f", "steps": [{"action": "checkout"}], "output": "$steps.1.y"}, "not_earlier"),
        ({"name": "f", "steps": [{"action": "checkout"}] * 51}, "maxItems"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_flow_that_cannot_run_is_refused_with_what_is_wrong(
    site: Site, client: AgentClient, flow: dict[str, Any], code: str
) -> None:
    site.manifest["flows"] = [flow]
    caught = refusal(lambda: client.run_flow(site.url, "f"))
    assert caught.code == "flow_invalid"
    assert code in {problem["code"] for problem in caught.problems or []}
    assert site.calls() == []


def test_a_flow_of_another_name_is_said_with_those_that_look_like_it(site: Site, client: AgentClient) -> None:
    caught = refusal(lambda: client.run_flow(site.url, "buy_products"))
    assert (caught.code, caught.extra["closest"]) == ("not_found", ["buy_product"])


def test_a_hostile_flow_whose_input_grows_without_end_is_refused(site: Site, client: AgentClient) -> None:
    wide = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(1_000)}}
    site.action("wide", input={"type": "array", "items": wide})
    site.manifest["actions"][-1]["input"] = {"type": "object", "properties": {"l": {"items": wide}}}
    uses = [f"$input.a{number}" for number in range(2_000)]
    site.manifest["flows"] = [{"name": "f", "steps": [{"action": "wide", "with": {"l": uses}}]}]
    caught = refusal(lambda: client.run_flow(site.url, "f"))
    assert caught.code == "manifest_invalid"
    assert "parts of schemas" in caught.message


def test_a_step_that_was_begun_a_day_ago_is_not_tried_again(
    site: Site, asking: AgentClient, keystore: KeyStore, time: Time, grant: Grant
) -> None:
    never = ApprovalPolicy.never_ask()
    client = AgentClient(keystore, approval=never, clock=time, sleep=time.sleep, attempts=1)
    site.script("/api/checkout", site.act_and_drop)
    refusal(lambda: client.run_flow(site.url, "buy_product", BUY))
    time.now += 86_401
    grant("*", spending=("USD", 100_00, 1000_00))
    before = len(site.calls())
    caught = refusal(lambda: client.run_flow(site.url, "buy_product", BUY))
    assert (caught.code, caught.extra["step"], len(site.calls())) == ("outcome_unknown", 2, before)


def test_a_run_whose_answers_grow_without_end_stays_readable_and_keeps_no_other_flow_from_running(
    site: Site, client: AgentClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentweb.client.flows.runs.MAX_WRITTEN", 10_000)
    monkeypatch.setattr("agentweb.client.flows.runs._MAX_BYTES", 20_000)
    site.action("tell", effect="read", method="GET")
    site.manifest["flows"].append({"name": "talk", "steps": [{"action": "tell"}] * 6})
    site.script("/api/tell", *[Reply(200, "x" * 4_500)] * 5, error(409, "gone"))
    caught = refusal(lambda: client.run_flow(site.url, "talk"))
    assert (caught.code, caught.extra["reason"]) == ("response_invalid", "too_large")
    assert (caught.extra["step"], len(caught.extra["completed"])) == (2, 2)
    assert [len(run.outputs) for run in client.runs()] == [2]
    assert client.run_flow(site.url, "buy_product", BUY).value == {"done": 2}


def test_a_run_that_cannot_be_read_is_not_hidden_from_a_flow_and_hides_no_other_in_the_list(
    site: Site, asking: AgentClient, keystore: KeyStore, caplog: pytest.LogCaptureFixture
) -> None:
    refusal(lambda: asking.run_flow(site.url, "buy_product", BUY))
    [run] = asking.runs()
    broken = Path(f"{keystore.path}.runs") / f"fr_{'A' * 22}.json"
    broken.write_text("{}")
    broken.chmod(0o600)
    assert asking.runs() == [run]
    assert str(broken) in caplog.text
    # It may have been this very flow, and have paid.
    caught = refusal(lambda: asking.run_flow(site.url, "buy_product", {"query": "tea", "quantity": 1}))
    assert caught.code == "keystore_invalid"
    assert "move it away" in caught.message
    assert refusal(lambda: asking.run_flow(site.url, "buy_product", resume=run.run)).code == "needs_human"
