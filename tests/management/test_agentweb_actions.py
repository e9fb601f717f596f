"""``manage.py agentweb_actions``: everything that is declared, hidden and faulty declarations included."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import set_script_prefix

from agentweb import action
from agentweb.catalog.registry import registry
from tests.support.web_fixtures import catalog, shop  # noqa: F401


def actions(*options: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("agentweb_actions", *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.mark.usefixtures("shop")
def test_every_action_is_a_line_of_columns() -> None:
    head, *lines = actions()[0].splitlines()
    assert head.split() == [
        "name",
        "effect",
        "scope",
        "cost",
        "confirm",
        "method",
        "path",
        "visible",
        "source",
    ]
    assert [line.split()[0] for line in lines] == [each.name for each in registry.actions()]
    [line] = [line for line in lines if line.startswith("cancel_order ")]
    source = "tests.support.web.declare.<locals>.cancel_order"
    assert line.split() == [
        "cancel_order",
        "delete",
        "orders:delete",
        "-",
        "-",
        "DELETE",
        "/orders/{id}",
        "everyone",
        source,
    ]
    assert len({line.index("tests.support.web.declare.<locals>." + line.split()[0]) for line in lines}) == 1


@pytest.mark.usefixtures("catalog")
def test_what_an_action_costs_and_that_a_person_confirms_it_is_listed() -> None:
    by_input = {"type": "object", "required": ["price"], "properties": {"price": {"type": "number"}}}
    fixed, chosen = {"amount": "25", "currency": "USD"}, {"field": "price", "currency": "USD"}
    action("fixed", effect="spend", description="A.", input=None, cost=fixed, confirm="person")(
        lambda inp, ctx: None
    )
    action("chosen", effect="spend", description="B.", input=by_input, cost=chosen)(lambda inp, ctx: None)
    lines = {line.split()[0]: line for line in actions()[0].splitlines()}
    assert " USD 25.00     person " in lines["fixed"]
    assert "USD by price" in lines["chosen"]
    costs = {each["name"]: each["cost"] for each in json.loads(actions("--json")[0])["actions"]}
    assert costs == {
        "fixed": {"currency": "USD", "amount": "25.00"},
        "chosen": {"currency": "USD", "field": "price"},
    }


@pytest.mark.usefixtures("shop")
def test_a_hidden_action_is_listed_with_its_guard() -> None:
    told = json.loads(actions("--json", "staff_report")[0])
    assert told == {
        "actions": [
            {
                "name": "staff_report",
                "effect": "read",
                "scope": None,
                "method": "GET",
                "path": "/agent/staff_report",
                "visible": "tests.support.web.declare.<locals>.<lambda>",
                "cost": None,
                "confirm": None,
                "source": "tests.support.web.declare.<locals>.staff_report",
            }
        ],
        "faults": [],
    }


@pytest.mark.usefixtures("catalog")
def test_a_faulty_declaration_is_told() -> None:
    action("good", description="Good.", input=None)(lambda _, ctx: None)
    action("bad", scope="*", description="Bad.", input=None)(lambda _, ctx: None)
    out, err = actions()
    assert "good" in out
    assert "agentweb.E013" in err
    assert json.loads(actions("--json")[0])["faults"][0]["id"] == "agentweb.E013"


@pytest.mark.usefixtures("catalog")
def test_a_site_without_actions_is_told_where_to_look() -> None:
    assert "manage.py check" in actions()[0]
    assert json.loads(actions("--json")[0]) == {"actions": [], "faults": []}


@pytest.mark.usefixtures("shop")
def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(CommandError, match=r"named cancel_orders\. Did you mean cancel_order\?"):
        actions("cancel_orders")


@pytest.mark.usefixtures("shop")
def test_paths_are_whole_for_a_site_under_a_script_name() -> None:
    set_script_prefix("/shop/")
    try:
        assert json.loads(actions("order", "--json")[0])["actions"][0]["path"] == "/shop/orders/{id}"
    finally:
        set_script_prefix("/")
