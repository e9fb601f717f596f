"""Finding among the sites that an agent has met, and with an index among others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agentweb.client import finding
from agentweb.client.discovery import Discovery
from agentweb.client.finding import FIND, MANIFESTS, Finder
from agentweb.client.found import Found
from agentweb.client.patience import Patience
from agentweb.client.transport import Answer, Transport
from agentweb.wire.errors import InputError
from tests.client.site import MANIFEST, Reply, Site, Time, running_site

AWP = "/.well-known/agentic-web-protocol.json"


@pytest.fixture
def sites() -> Iterator[Callable[[], Site]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(running_site())


@pytest.fixture
def index(sites: Callable[[], Site]) -> Site:
    return sites()


class Agent:
    """What an agent has of finding: it reads manifests, and asks."""

    def __init__(self, folder: Path, time: Time, index_url: str | None = None) -> None:
        self.time = time
        self.finder = Finder(folder, clock=time, index_url=index_url)
        self.transport = Transport(seconds=5)
        self.discovery = Discovery(
            self.transport,
            clock=time,
            patience=lambda: Patience(attempts=1, seconds=5, clock=time, sleep=time.sleep),
        )
        self.discovery.on_read = self.finder.saw

    def meet(self, *met: Site) -> None:
        for site in met:
            self.discovery.load(site.url)

    def find(self, query: str, **members: Any) -> list[str]:
        return [f"{each.site}/{each.name}" for each in self.finder.find(query, **members).results]


@pytest.fixture
def agents(tmp_path: Path, time: Time) -> Iterator[Callable[..., Agent]]:
    made: list[Agent] = []

    def make(index_url: str | None = None, name: str = "one") -> Agent:
        made.append(Agent(tmp_path / name, time, index_url))
        return made[-1]

    yield make
    for agent in made:
        agent.finder.close()
        agent.transport.close()


def result(site: str, action: str, **members: Any) -> dict[str, Any]:
    return {
        "type": "action",
        "site": site,
        "action": action,
        "description": "",
        "effect": "spend",
        "scope": None,
        "cost": None,
        "score": 5.5,
        "manifest_url": f"https://{site}{MANIFEST}",
        "fetched_at": "2027-01-01T00:00:00Z",
        "stale": False,
        **members,
    }


@pytest.mark.requirement("AA-4.1", "AA-4.2", "AA-4.3")
def test_what_was_met_is_found_and_names_its_site(
    agents: Callable[..., Agent], sites: Callable[[], Site]
) -> None:
    paper, zoo = sites(), sites()
    paper.action("buy_paper", effect="spend", description="Order printer paper.", scope="checkout")
    zoo.action("buy_ticket", effect="spend", description="A day at the zoo.")
    agent = agents()
    agent.meet(paper, zoo)
    [first, second] = agent.finder.find("buy printer paper").results
    assert (first.site, first.name, first.scope, first.sources) == (
        paper.authority,
        "buy_paper",
        "checkout",
        ("seen",),
    )
    assert first.url == paper.url
    assert first.score > second.score > 0
    assert agents().find("buy printer paper") == [
        f"{paper.authority}/buy_paper",
        f"{zoo.authority}/buy_ticket",
    ]


def test_a_site_is_found_by_what_it_says_of_itself(
    agents: Callable[..., Agent], site: Site, time: Time
) -> None:
    site.action("checkout", effect="spend")
    site.script(AWP, Reply(200, {"name": "Greenleaf", "description": "Printer paper and pens."}))
    agent = agents()
    agent.meet(site)
    assert agent.find("printer paper") == [f"{site.authority}/checkout"]
    asked = len(site.seen)
    assert agents().find("printer paper") == [f"{site.authority}/checkout"]
    assert len(site.seen) == asked  # for a week


def test_a_changed_manifest_takes_the_place_of_the_other(agents: Callable[..., Agent], site: Site) -> None:
    site.action("buy_paper")
    agent = agents()
    agent.meet(site)
    site.manifest["actions"] = []
    site.action("buy_ink")
    agent.meet(site)
    assert agent.find("paper") == []
    assert agent.find("ink") == [f"{site.authority}/buy_ink"]


def test_filters_and_limits_are_those_of_an_index(agents: Callable[..., Agent], site: Site) -> None:
    for number in range(5):
        site.action(f"stamps_{number}", effect="read")
    site.action("stamps_dear", effect="spend", cost={"currency": "USD", "amount": 99})
    site.action("stamps_cheap", effect="spend", cost={"currency": "USD", "amount": 5})
    agent = agents()
    agent.meet(site)
    names = [f"{site.authority}/stamps_{each}" for each in ("cheap", "dear", "0", "1", "2", "3", "4")]
    assert len(agent.find("stamps")) == 3
    assert len(agent.find("stamps", site=site.authority)) == 7
    assert sorted(agent.find("stamps", effect="spend")) == sorted(names[:2])
    assert agent.find("stamps", currency="EUR") == []
    assert agent.find("stamps", currency="USD", max_cost="5.00", effect="spend") == names[:1]
    assert len(agent.find("stamps", per_site=4, limit=2)) == 2


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "x" * 501}, "query"),
        ({"query": None}, "query"),
        ({"effect": "buy"}, "effect"),
        ({"currency": "XXY"}, "currency"),
        ({"max_cost": "5"}, "max_cost"),
        ({"currency": "USD", "max_cost": "5.123"}, "max_cost"),
        ({"limit": 0}, "limit"),
        ({"query": "half \ud800"}, "query"),
        ({"site": 5}, "site"),
        ({"currency": ["USD"]}, "currency"),
        ({"per_site": "3"}, "per_site"),
    ],
    ids=[
        "empty", "long", "none", "effect", "currency", "no-currency", "amount", "limit", "surrogate", "site", "list",
        "per-site",
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(
    agents: Callable[..., Agent], asked: dict[str, Any], field: str
) -> None:
    with pytest.raises(InputError) as refused:
        agents().finder.find(**{"query": "stamps", **asked})
    assert refused.value.field == field


def test_files_that_are_none_any_more_are_left_out(
    agents: Callable[..., Agent], site: Site, tmp_path: Path
) -> None:
    site.action("buy_paper")
    agents().meet(site)
    [file] = (tmp_path / "one").glob("*.json")
    for content in (b"", b"{}", b'{"site":"other.example"}', b"\xff"):
        file.write_bytes(content)
        assert agents().find("paper") == []
    agents().meet(site)
    assert agents().find("paper") == [f"{site.authority}/buy_paper"]


def test_the_oldest_go_when_there_are_too_many(
    agents: Callable[..., Agent], sites: Callable[[], Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "MAX_SITES", 2)
    agents().meet(sites(), sites(), sites())
    assert len(list((tmp_path / "one").glob("*.json"))) == 2


def test_a_folder_that_cannot_be_written_hinders_no_call(
    agents: Callable[..., Agent], site: Site, tmp_path: Path
) -> None:
    (tmp_path / "one").write_text("no folder")
    agents().meet(site)
    assert agents().find("paper") == []


def test_an_index_is_asked_with_the_filters_and_both_lists_become_one(
    agents: Callable[..., Agent], index: Site, sites: Callable[[], Site]
) -> None:
    own = sites()
    own.action("buy_paper", effect="spend")
    agent = agents(index.url)
    agent.meet(own)
    both = result(own.authority, "buy_paper", manifest_url=f"{own.url}{MANIFEST}")
    index.script(FIND, Reply(200, {"results": [result("far.example", "order_paper"), both]}))
    found = agent.finder.find("buy paper", effect="spend", currency="USD", max_cost="30", limit=5)
    assert [(each.site, each.sources) for each in found.results] == [
        (own.authority, ("seen", "index")),
        ("far.example", ("index",)),
    ]
    assert found.results[1].url == "https://far.example"
    [seen] = index.calls(FIND)
    assert seen.path == f"{FIND}?q=buy+paper&effect=spend&currency=USD&max_cost=30&limit=5&per_site=3"


TEA = ("buy_tea", "find_and_buy", "buy")


def meets_a_tea_shop(agent: Agent, shop: Site) -> list[dict[str, Any]]:
    """What an index answers of it."""
    for name in TEA:
        shop.action(name, effect="spend", description="Buy packets of tea.")
    agent.meet(shop)
    where = f"{shop.url}{MANIFEST}"
    return [result(shop.authority, name, manifest_url=where, score=0.3) for name in TEA]


@pytest.mark.requirement("AA-4.1")
@pytest.mark.parametrize("is_indexed", [True, False], ids=["in-both", "met-only"])
def test_what_fits_stands_before_what_was_met(
    agents: Callable[..., Agent], index: Site, sites: Callable[[], Site], is_indexed: bool
) -> None:
    agent, shop = agents(index.url), sites()
    tea = meets_a_tea_shop(agent, shop)
    paper = result("far.example", "buy_product", description="Printer paper and pens.", score=3.73)
    index.script(FIND, Reply(200, {"results": [paper, *(tea if is_indexed else [])]}))
    found = agent.finder.find("buy printer paper").results
    assert [each.name for each in found] == ["buy_product", "buy", "buy_tea", "find_and_buy"]
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert found[1].sources == (("seen", "index") if is_indexed else ("seen",))


def test_what_the_index_knows_of_a_site_without_saying_it_counts(
    agents: Callable[..., Agent], index: Site, sites: Callable[[], Site]
) -> None:
    agent, shop = agents(index.url), sites()
    tea = meets_a_tea_shop(agent, shop)
    office = result("office.example", "checkout", score=3.73)  # found by what the site says of itself
    index.script(FIND, Reply(200, {"results": [office, *tea]}))
    assert agent.find("buy printer paper")[0] == "office.example/checkout"


def test_a_score_beyond_all_measure_is_worth_no_more_than_words_can_be(
    agents: Callable[..., Agent], index: Site
) -> None:
    boast = [
        result("far.example", name, score=score) for name, score in (("a", 1e12), ("b", 0), ("paper", 1e-9))
    ]
    index.script(FIND, Reply(200, {"results": boast}))
    found = agents(index.url).finder.find("paper").results
    assert [each.name for each in found] == ["a", "paper", "b"]
    assert [each.score for each in found] == [2.2, found[1].score, 0]


def test_a_site_has_no_more_places_in_both_lists_together(
    agents: Callable[..., Agent], index: Site, sites: Callable[[], Site]
) -> None:
    agent, shop = agents(index.url), sites()
    meets_a_tea_shop(agent, shop)
    where = f"{shop.url}{MANIFEST}"
    more = [result(shop.authority, f"tea_{number}", manifest_url=where) for number in range(3)]
    index.script(FIND, Reply(200, {"results": more}))
    assert len(agent.find("tea")) == 3


@pytest.mark.parametrize(
    "reply",
    [
        Reply(500),
        Reply(404, {"error": {"code": "not_found", "message": "Nothing is here."}}),
        Reply(200, body=b"<html>"),
        Reply(200, {"results": 5}),
        Reply(302, headers={"Location": "https://elsewhere.example/"}),
        Reply(drop=True),
    ],
    ids=["500", "404", "html", "shape", "redirect", "dropped"],
)
def test_an_index_that_does_not_help_hides_nothing_of_what_is_known(
    agents: Callable[..., Agent], index: Site, site: Site, reply: Reply
) -> None:
    site.action("buy_paper")
    agent = agents(index.url)
    agent.meet(site)
    index.script(FIND, reply)
    found = agent.finder.find("paper")
    assert [each.name for each in found.results] == ["buy_paper"]
    assert found.index_error is not None


@pytest.mark.parametrize(
    "broken",
    [
        5,
        result("far.example", "x", type="html"),
        result("far.example", "x", effect="destroy"),
        result("far.example", "../x"),
        result("far.example", "x", manifest_url=f"https://bank.example{MANIFEST}"),
        result("far.example", "x", manifest_url="javascript:alert(1)"),
        result("far.example\n", "x"),
        {**result("far.example", "x"), "type": []},
        {**result("far.example", "x"), "type": {}},
    ],
    ids=["number", "kind", "effect", "name", "another-site", "script", "line", "list", "object"],
)
def test_what_is_no_result_is_left_out(agents: Callable[..., Agent], index: Site, broken: Any) -> None:
    good = result(
        "good.example", "buy", description="Fine.\x1b[2J" + "x" * 900, cost={"currency": "USD", "amount": 5}
    )
    index.script(FIND, Reply(200, {"results": [broken, good]}))
    [found] = agents(index.url).finder.find("paper").results
    assert found.site == "good.example"
    assert "\x1b" not in found.description
    assert len(found.description) <= 500
    assert found.cost == {"currency": "USD"}
    assert json.loads(json.dumps(found.as_dict()))["action"] == "buy"


@pytest.mark.parametrize(
    "members",
    [
        {"cost": {"currency": []}},
        {"cost": {"currency": {}}},
        {"score": 10**300},
        {"score": True},
        {"score": []},
    ],
    ids=["currency-list", "currency-object", "huge-score", "true-score", "list-score"],
)
def test_what_is_odd_of_a_result_is_left_out(
    agents: Callable[..., Agent], index: Site, members: dict[str, Any]
) -> None:
    answer = json.dumps({"results": [{**result("far.example", "x"), **members}]})
    index.script(FIND, Reply(200, body=answer.replace(str(10**300), "1e400").encode()))
    found = agents(index.url).finder.find("paper")
    assert [(each.cost, each.score) for each in found.results] in ([(None, 5.5)], [(None, 0.0)], [])
    assert found.results or found.index_error is not None
    json.dumps([each.as_dict() for each in found.results], allow_nan=False)


def test_sites_are_named_to_the_index_once_a_day(
    agents: Callable[..., Agent], index: Site, site: Site, time: Time
) -> None:
    index.script(MANIFESTS, *[Reply(200, {})] * 3)
    agent = agents(index.url)
    agent.meet(site)
    site.action("more")
    agent.meet(site)
    assert [each.json for each in index.calls(MANIFESTS)] == [{"url": site.url}]
    time.now += 86_401
    site.action("still_more")
    agent.meet(site)
    assert len(index.calls(MANIFESTS)) == 2


@pytest.mark.parametrize("reply", [Reply(429), Reply(503), Reply(drop=True)], ids=["429", "503", "dropped"])
def test_an_index_that_has_no_time_is_left_alone_for_a_while(
    agents: Callable[..., Agent], index: Site, sites: Callable[[], Site], time: Time, reply: Reply
) -> None:
    index.script(MANIFESTS, reply, Reply(200, {}))
    agent = agents(index.url)
    agent.meet(sites(), sites())
    assert len(index.calls(MANIFESTS)) == 1
    time.now += 601
    agent.meet(sites())
    assert len(index.calls(MANIFESTS)) == 2


def test_sites_of_the_user_s_own_machine_and_network_are_named_to_nobody_else(
    tmp_path: Path, time: Time
) -> None:
    finder = Finder(tmp_path, clock=time, allowed=["intranet.example"], index_url="https://index.example")
    assert not finder._may_be_named("http://127.0.0.1:8000/x")
    assert not finder._may_be_named("https://Intranet.example/x")
    assert finder._may_be_named("https://shop.example/x")
    finder.close()


def test_an_index_of_strangers_sends_nobody_to_their_own_machine(
    tmp_path: Path, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    finder = Finder(tmp_path, clock=time, allowed=["intranet.example"], index_url="https://index.example")
    named = [
        result("127.0.0.1:9200", "read", manifest_url=f"http://127.0.0.1:9200{MANIFEST}"),
        result("intranet.example", "read"),
        result("shop.example", "read"),
    ]
    answer = Answer(200, {}, json.dumps({"results": named}).encode(), "https://index.example/")
    monkeypatch.setattr(finder._transport, "get", lambda url, **_members: answer)
    assert [each.site for each in finder.find("read").results] == ["shop.example"]
    finder.close()


def test_without_an_index_nobody_is_told_anything(agents: Callable[..., Agent], site: Site) -> None:
    agent = agents()
    agent.meet(site)
    assert {each.path for each in site.seen} == {MANIFEST}
    assert agent.finder.find("paper") == Found(())
