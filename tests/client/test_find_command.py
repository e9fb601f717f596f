"""``agentweb find``, and ``AgentClient.find_action`` behind it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentweb.client.agent import AgentClient
from agentweb.client.command_line import MISUSED, OK, REFUSED, main
from agentweb.client.finding import FIND, MANIFESTS
from agentweb.client.keystore import KeyStore
from tests.client.site import MANIFEST, Reply, Site, running_site

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv("AGENTWEB_INDEX", raising=False)

    def running(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["--key-store", str(tmp_path / "keys.json"), *arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return running


def test_what_was_discovered_is_found(run: Run, site: Site) -> None:
    site.action(
        "buy_paper", effect="spend", description="Order printer paper.", cost={"currency": "USD", "amount": 5}
    )
    assert run("find", "buy printer paper")[:2] == (
        OK,
        "Nothing is found. discover a site first, or name an index with --index.\n",
    )
    run("discover", site.url)
    code, out, _err = run("find", "buy", "printer", "paper")
    assert (code, out) == (OK, f"{site.url} buy_paper (action, spend USD 5.00): Order printer paper.\n")
    [found] = json.loads(run("--json", "find", "paper")[1])["results"]
    assert (found["site"], found["action"], found["sources"]) == (site.authority, "buy_paper", ["seen"])
    assert run("find", "paper", "--effect", "read")[1].startswith("Nothing is found.")


@pytest.mark.parametrize("how", ["option", "environment"])
def test_an_index_is_asked_and_told_of_what_is_met(
    run: Run, site: Site, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.action("buy_paper", effect="spend")
    with running_site() as index:
        index.script(MANIFESTS, Reply(200, {}))
        far = {
            "type": "flow", "site": "far.example", "flow": "restock", "effect": "spend",
            "description": "More\x1b[2J paper.", "scope": None, "cost": None, "score": 3, "manifest_url": f"https://far.example{MANIFEST}",
            "fetched_at": None, "stale": True,
        }  # fmt: skip
        index.script(FIND, Reply(200, {"results": [far]}), Reply(503))
        if how == "environment":
            monkeypatch.setenv("AGENTWEB_INDEX", index.url)
        named = ["--index", index.url] if how == "option" else []
        run(*named, "discover", site.url)
        assert [each.json for each in index.calls(MANIFESTS)] == [{"url": site.url}]
        code, out, _err = run("find", "paper", *named)
        assert code == OK
        assert out.splitlines() == [
            f"{site.url} buy_paper (action, spend)",
            "https://far.example restock (flow, spend) (stale): More[U+001B][2J paper.",
        ]
        code, out, _err = run("find", "paper", *named)
        assert code == OK
        assert out.splitlines()[-1].startswith("(The index did not help: ")


def test_what_cannot_be_asked_is_refused(run: Run) -> None:
    code, _out, err = run("find", "paper", "--max-cost", "5")
    assert code == REFUSED
    assert "max_cost needs a currency" in err
    assert run("find")[0] == MISUSED


def test_a_call_makes_a_site_known_too_and_the_client_finds_it(
    site: Site, keystore: KeyStore, client: AgentClient, time: Any
) -> None:
    site.action("look", effect="read", method="GET", description="Look at stamps.")
    client.call_action(site.url, "look")
    with AgentClient(keystore, clock=time, sleep=time.sleep) as other:
        [found] = other.find_action("stamps").results
        assert found.url == site.url
        assert other.call_action(found.url, found.name).status == 200
