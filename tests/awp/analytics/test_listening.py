"""What is counted of a request, and what it costs."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from django.test import override_settings

from agentweb.awp.analytics import counting
from agentweb.awp.analytics.counting import Counts
from agentweb.awp.analytics.families import SIGNED
from agentweb.awp.analytics.listening import protocol_of
from agentweb.awp.analytics.models import AgentRequests
from agentweb.awp.compliance import site
from agentweb.doctor import examination
from agentweb.http.asking import MEASURING
from agentweb.http.views import NothingHere
from agentweb.testing import TestAgent
from tests.aim.wire import registered
from tests.support.web import send

pytestmark = pytest.mark.usefixtures("shop")

MANIFEST = "/.well-known/agent-actions.json"


@pytest.fixture(autouse=True)
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    fresh = Counts()
    monkeypatch.setattr(counting, "counts", fresh)
    return fresh


def counted(counts: Counts) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for (_day, protocol, family), count in counts.take().items():
        found[protocol, family] += count
    return found


def test_each_room_s_requests_are_counted_under_its_name(counts: Counts) -> None:
    for path in (MANIFEST, "/awp/manifest.json", "/llms.txt", "/ai-sitemap.json", "/.well-known/aim.json"):
        send("GET", path, User_Agent="GPTBot/1.3")
    send("GET", "/agent/search_products?query=tea", User_Agent="GPTBot/1.3")
    found = counted(counts)
    assert found["agent_actions", "OpenAI"] == 2
    assert found["awp", "OpenAI"] == 2
    assert {protocol for protocol, _family in found} <= {"agent_actions", "awp", "aip", "aim"}


@pytest.mark.parametrize("tool", [examination.USER_AGENT, site.USER_AGENT])
def test_what_measures_a_site_over_the_network_is_no_agent(counts: Counts, tool: str) -> None:
    send("GET", MANIFEST, User_Agent=tool)
    assert counted(counts) == Counter()
    assert tool in MEASURING


def test_refused_and_repeated_requests_are_counted_and_preflights_are_not(counts: Counts) -> None:
    first = send("GET", MANIFEST, User_Agent="mine")
    assert send("GET", MANIFEST, User_Agent="mine", If_None_Match=first["ETag"]).status_code == 304
    assert send("GET", "/agent/nothing", User_Agent="mine").status_code == 404
    assert send("HEAD", MANIFEST, User_Agent="mine").status_code == 200
    send("OPTIONS", MANIFEST, User_Agent="mine")
    assert counted(counts) == {("agent_actions", "Others"): 4}


@pytest.mark.django_db
def test_signed_requests_are_known_as_such_and_bad_ones_are_not(counts: Counts) -> None:
    TestAgent(scopes=["cart:write"]).get(MANIFEST)
    assert send("GET", MANIFEST, Signature="nonsense").status_code == 401
    assert counted(counts) == {("agent_actions", SIGNED): 1, ("agent_actions", "Without a name"): 1}


@pytest.mark.django_db
@pytest.mark.usefixtures("easy_work")
def test_the_messenger_s_agents_are_signed_agents(counts: Counts) -> None:
    alice = registered("alice")
    counts.take()
    assert alice.get("/v2/agents/me").status_code == 200
    assert send("GET", "/v2/agents/me", Authorization="AIM nonsense").status_code == 401
    assert counted(counts) == {("aim", SIGNED): 1, ("aim", "Without a name"): 1}


def test_a_warm_document_still_costs_no_query(counts: Counts, django_assert_num_queries: Any) -> None:
    send("GET", MANIFEST)
    with django_assert_num_queries(0):
        for _ in range(5):
            send("GET", MANIFEST)
    assert sum(counts.take().values()) == 6


@override_settings(AGENTWEB={"ORIGIN": "https://shop.example", "AWP": {"ANALYTICS": False}})
def test_nothing_is_counted_when_it_is_switched_off(counts: Counts) -> None:
    send("GET", MANIFEST)
    assert counts.take() == {}


@pytest.mark.django_db
def test_of_who_asks_nothing_but_the_kind_is_kept(counts: Counts) -> None:
    send(
        "GET",
        f"{MANIFEST}?secret-value=1",
        User_Agent="Zyxw-Agent/77 (Ada Lovelace)",
        REMOTE_ADDR="203.0.113.9",
    )
    assert set(map(type, next(iter(counts.kept)))) == {int, str}
    counts.write()
    rows = json.dumps(list(AgentRequests.objects.values("protocol", "family", "requests")))
    assert rows == '[{"protocol": "agent_actions", "family": "Others", "requests": 1}]'
    assert {field.name for field in AgentRequests._meta.get_fields()} == {
        *("id", "day", "protocol", "family", "requests"),
    }


def test_a_view_of_no_room_is_of_no_protocol() -> None:
    assert protocol_of(NothingHere) is None
