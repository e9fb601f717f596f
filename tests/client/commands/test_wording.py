"""What the client says to programs, as the command line says it to people."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from agentweb.client.command_line import REFUSED, WAITING
from agentweb.client.commands.wording import moment, price, with_options
from agentweb.client.errors import SiteError
from agentweb.wire.errors import ClientError
from tests.client.site import Reply, Site

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def shop(site: Site) -> None:
    site.action("pay", effect="spend", scope="pay", cost={"field": "price", "currency": "USD"})
    site.action("look", effect="read", method="GET")


def test_a_question_says_with_which_option_or_command_it_is_answered(run: Run, site: Site) -> None:
    code, _out, err = run("call", site.url, "pay", '{"price": 20}')
    [ident] = re.findall(r"approval: (ap_\S+)", err)
    assert code == WAITING
    assert f"run the same command again with --confirm, or: agentweb confirm {ident}." in err
    assert "confirm=True" not in err
    lines = err.splitlines()
    assert "  cost: 20.00 USD" in lines
    assert [line for line in lines if re.fullmatch(r"  expires: \d{4}-\d\d-\d\d \d\d:\d\d UTC", line)]
    told = json.loads(run("--json", "call", site.url, "pay", '{"price": 20}')[1])["error"]
    assert "--confirm" in told["message"]
    assert isinstance(told["expires"], int)


def test_a_question_that_takes_a_code_says_how_it_is_given(run: Run, site: Site) -> None:
    _code, _out, err = run("--strict", "call", site.url, "pay", '{"price": 20}')
    [ident] = re.findall(r"approval: (ap_\S+)", err)
    assert (
        f"with --confirm, or: agentweb confirm {ident} (both with --code and the code that the person gets by: "
        f"agentweb code {ident})."
    ) in err


def test_what_was_spent_unasked_is_said_in_a_line(run: Run, site: Site) -> None:
    _code, _out, err = run("--auto-under", "USD:15.00", "call", site.url, "pay", '{"price": 20}')
    assert "  allowance: 15.00 of 15.00 USD left" in err.splitlines()


def test_an_error_of_a_flow_is_no_page_of_json(run: Run, site: Site) -> None:
    steps = [{"action": "look"}, {"action": "pay", "with": {"price": "$steps.0.items.0.price"}}]
    site.manifest["flows"] = [{"name": "buy", "steps": steps}]
    site.script("/api/look", Reply(200, {"items": [], "more": "x" * 1_500}))
    code, _out, err = run("flow", site.url, "buy")
    lines = err.splitlines()
    assert code == REFUSED
    assert "step 0 (look) answered: it found nothing." in lines[0]
    assert "  completed: look (--json shows what they answered)" in lines
    assert [line for line in lines if re.fullmatch(r"  resume: --resume fr_\S+", line)]
    assert max(map(len, lines)) < 300


def test_an_option_is_named_where_programs_give_an_argument() -> None:
    own = with_options(ClientError("manifest_changed", "Run the flow anew (new_intent=True)."))
    assert own.message == "Run the flow anew (--new-intent)."
    theirs = SiteError("odd", "Say confirm=True.", status=409)
    assert with_options(theirs).message == "Say confirm=True."


def test_it_is_listed_what_an_action_costs_and_that_a_person_decides(run: Run, site: Site) -> None:
    site.action("fixed", effect="spend", cost={"amount": 25, "currency": "USD"}, confirm="person")
    site.manifest["flows"] = [{"name": "buy", "steps": [{"action": "fixed"}]}]
    assert run("discover", site.url)[1].splitlines()[1:4] == [
        "pay (spend pay, USD by price): ",
        "look (read): ",
        "fixed (spend, USD 25.00, a person approves it at the site): ",
    ]
    planned = run("flow", site.url, "buy", "--plan")[1].splitlines()
    assert planned[1] == "  1. fixed (spend, USD 25.00, a person approves it at the site)"


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (None, ""),
        ({"currency": "USD", "amount": "5.00"}, "USD 5.00"),
        ({"currency": "USD", "field": "price"}, "USD by price"),
        ({"currency": "USD"}, "USD"),
    ],
    ids=["none", "amount", "field", "currency"],
)
def test_a_price_is_said_in_words(cost: dict[str, Any] | None, said: str) -> None:
    assert price(cost) == said


def test_a_moment_is_a_date_as_long_as_there_are_dates() -> None:
    assert moment(1_790_000_500) == "2026-09-21 14:21 UTC"
    assert (moment(-1), moment(10**30)) == ("-1", str(10**30))
