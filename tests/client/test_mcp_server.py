"""The client's tools as a model uses them, over MCP."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentweb.client import AgentClient, ApprovalPolicy, KeyStore
from tests.client.site import Reply, Site, Time, error

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")

ROOT = Path(__file__).parents[2]
Grant = Callable[..., str]


@pytest.fixture
def shop(site: Site, grant: Grant) -> Site:
    grant("*", spending=("USD", 100_00, 1000_00))
    site.action(
        "pay", effect="spend", scope="pay", cost={"amount": 25, "currency": "USD"}, description="a\x1bb"
    )
    site.action("look", effect="read", method="GET")
    site.manifest["flows"] = [{"name": "buy", "steps": [{"action": "look"}, {"action": "pay"}]}]
    return site


@pytest.fixture
def agent(keystore: KeyStore, time: Time) -> AgentClient:
    return AgentClient(keystore, approval=ApprovalPolicy(strict=True), clock=time, sleep=time.sleep)


def talk(server: Any, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """The results of tool calls, in order, over one session."""

    async def run() -> list[Any]:
        async with mcp.Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(run())


def tools_of(server: Any) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        async with mcp.Client(server) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    return asyncio.run(run())


@pytest.mark.requirement("AA-7.13")
def test_the_tools_have_the_names_of_the_specification_and_ask_for_no_key(agent: AgentClient) -> None:
    from agentweb.client.mcp_server import make_server

    tools = tools_of(make_server(agent))
    assert {"call_action", "run_flow", "discover_actions", "find_action"} <= tools.keys()
    for tool in tools.values():
        assert not {name for name in tool.input_schema["properties"] if "key" in name or "intent" in name}
    assert tools["call_action"].annotations.destructive_hint is True
    assert tools["discover_actions"].annotations.read_only_hint is True


def test_the_tools_say_what_they_take_and_the_server_who_it_is(agent: AgentClient) -> None:
    from agentweb import __version__
    from agentweb.client.mcp_server import make_server

    server = make_server(agent)
    assert server.version == __version__
    tools = tools_of(server)
    for tool in tools.values():
        assert all(each.get("description") for each in tool.input_schema["properties"].values()), tool.name
    found = tools["find_action"].input_schema["properties"]
    assert found.keys() == {"query", "effect", "site", "currency", "max_cost", "limit"}
    assert found["effect"]["anyOf"][0]["enum"] == ["read", "write", "send", "spend", "delete"]


def test_arguments_that_do_not_fit_are_refused_with_every_problem(shop: Site, agent: AgentClient) -> None:
    from agentweb.client.mcp_server import make_server

    wrong, unknown, narrowed = talk(
        make_server(agent),
        ("find_action", {"effect": "steal", "limit": "many"}),
        ("call_action", {"url": shop.url, "action": "look", "confrim": True}),
        ("find_action", {"query": "paper", "max_cost": "5"}),
    )
    for result in (wrong, unknown, narrowed):
        assert (result.is_error, result.structured_content["error"]["code"]) == (True, "invalid_input")
        assert "pydantic" not in result.content[0].text
    problems = wrong.structured_content["error"]["problems"]
    assert [(each["pointer"], each["code"]) for each in problems] == [
        ("/effect", "enum"),
        ("/limit", "type"),
        ("/query", "required"),
    ]
    [problem] = unknown.structured_content["error"]["problems"]
    assert (problem["pointer"], "Did you mean confirm?" in problem["message"]) == ("/confrim", True)
    assert narrowed.structured_content["error"]["field"] == "max_cost"
    assert shop.calls() == []


def test_a_model_is_told_that_the_code_was_wrong(shop: Site, agent: AgentClient) -> None:
    from agentweb.client.mcp_server import make_server

    server, pay = make_server(agent), {"url": shop.url, "action": "pay"}
    (asked,) = talk(server, ("call_action", pay))
    agent.approval_code(asked.structured_content["needs_human"]["approval"])
    (wrong,) = talk(server, ("call_action", {**pay, "confirm": True, "code": "000-000"}))
    question = wrong.structured_content["needs_human"]
    assert question["tries_left"] == 4
    assert "The code was wrong" in question["message"]


def test_a_model_sees_that_a_person_decides_at_the_site(shop: Site, agent: AgentClient) -> None:
    from agentweb.client.mcp_server import make_server

    shop.manifest["actions"][0]["confirm"] = "person"
    (listed,) = talk(make_server(agent), ("discover_actions", {"url": shop.url}))
    assert [each.get("confirm") for each in listed.structured_content["actions"]] == ["person", None]


def test_a_model_lists_reads_and_gets_refusals_as_results(shop: Site, agent: AgentClient) -> None:
    from agentweb.client.mcp_server import make_server

    shop.script("/api/look", Reply(200, {"n": 1.5}), error(409, "gone"))
    listed, read, refused, missing, found = talk(
        make_server(agent),
        ("discover_actions", {"url": shop.url}),
        ("call_action", {"url": shop.url, "action": "look"}),
        ("call_action", {"url": shop.url, "action": "look"}),
        ("call_action", {"url": shop.url, "action": "lok"}),
        ("find_action", {"query": "look at it"}),
    )
    results = found.structured_content["results"]
    assert ("look", shop.url) in [(each.get("action"), each["url"]) for each in results]
    assert [each["name"] for each in listed.structured_content["actions"]] == ["pay", "look"]
    assert listed.structured_content["actions"][0]["description"] == "a b"
    assert listed.structured_content["flows"][0]["steps"] == ["look", "pay"]
    assert (read.is_error, read.structured_content) == (False, {"value": {"n": 1.5}})
    assert (refused.is_error, refused.structured_content["error"]["code"]) == (True, "gone")
    assert missing.structured_content["error"]["closest"] == ["look"]


def test_a_model_cannot_confirm_by_itself(shop: Site, agent: AgentClient) -> None:
    from agentweb.client.mcp_server import make_server

    server = make_server(agent)
    pay = {"url": shop.url, "action": "pay"}
    first, again, invented = talk(
        server,
        ("call_action", pay),
        ("call_action", {**pay, "confirm": True}),
        ("call_action", {**pay, "confirm": True, "code": "12345678"}),
    )
    for result in (first, again, invented):
        assert result.is_error is False
        assert result.structured_content["needs_human"]["cost"] == {"amount": "25.00", "currency": "USD"}
    assert shop.acts == []
    code = agent.approval_code(first.structured_content["needs_human"]["approval"])
    (paid,) = talk(server, ("call_action", {**pay, "confirm": True, "code": code}))
    assert paid.structured_content == {"value": {"done": 1}}


def test_a_model_goes_on_with_a_flow(shop: Site, agent: AgentClient) -> None:
    from agentweb.client.mcp_server import make_server

    server = make_server(agent)
    (asked,) = talk(server, ("run_flow", {"url": shop.url, "flow": "buy"}))
    question = asked.structured_content["needs_human"]
    assert (question["step"], question["action"]) == (1, "pay")
    code = agent.approval_code(question["approval"])
    again = {
        "url": shop.url,
        "flow": "buy",
        "resume": question["resume"]["run"],
        "confirm": True,
        "code": code,
    }
    (done,) = talk(server, ("run_flow", again))
    assert done.is_error is False
    assert len(shop.calls("/api/look")) == len(shop.calls("/api/pay")) == 1


def test_the_command_asks_the_index_that_is_named(
    shop: Site, keystore: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentweb.client.command_line import main

    asked: list[Any] = []
    monkeypatch.setattr(
        "agentweb.client.mcp_server.serve", lambda agent: asked.append(agent.find_action("paper"))
    )
    shop.script("/agent-index/find", error(503, "busy"))
    assert main(["--key-store", str(keystore.path), "--index", shop.url, "mcp"]) == 0
    assert [found.index_error.code for found in asked] == ["busy"]


def test_a_program_that_goes_away_under_way_is_no_error(
    agent: AgentClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentweb.client import mcp_server

    class Gone:
        def run(self, _transport: str) -> None:
            raise ExceptionGroup("of the SDK", [BrokenPipeError()])

    monkeypatch.setattr(mcp_server, "make_server", lambda _agent: Gone())
    mcp_server.serve(agent)


def test_what_a_person_looks_for_is_not_logged(agent: AgentClient) -> None:
    from agentweb.client.mcp_server import make_server

    assert make_server(agent).settings.log_level == "WARNING"


def test_the_command_serves_over_standard_input_and_output(shop: Site, keystore: KeyStore) -> None:
    from mcp.client.stdio import StdioServerParameters

    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "agentweb.client", "--key-store", str(keystore.path), "mcp"],
        env={"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "PATH": os.environ["PATH"]},
    )
    (read,) = talk(command, ("call_action", {"url": shop.url, "action": "look"}))
    assert read.structured_content == {"value": {"done": 1}}
