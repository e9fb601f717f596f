"""What docs/how-to/ask-before-spending.md shows works as it says."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from agentweb.client import AgentClient, KeyStore, NeedsHumanError
from tests.docs.pages import blocks
from tests.docs.tutorial import Site

TEA = {"sku": "assam", "packets": 1, "price": 6.5}


def test_the_person_is_asked_and_small_sums_pass(
    shop: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    store = KeyStore("agent-keys.json")
    grant = shop.run(
        f"python manage.py issue_grant --agent-key {store.key.public} --scope tea:buy --mandate USD:90.00/90.00"
    )
    store.add_grant(grant)
    program, small, strict = blocks("how-to/ask-before-spending.md", "python")
    questions: list[str] = []
    monkeypatch.setattr(builtins, "input", lambda prompt: questions.append(prompt) or "y")
    names: dict[str, Any] = {"SHOP": shop.origin, "TEA": TEA, "SITE": shop.origin.partition("://")[2]}
    exec(program.text, names)  # noqa: S102
    said = capsys.readouterr().out
    assert "may spend up to 6.50 USD" in said
    assert said.endswith("6.50\n")
    assert questions == ["Approve? "]

    exec(small.text, names)  # noqa: S102
    with AgentClient(store, approval=names["policy"]) as agent:
        assert agent.call_action(shop.origin, "buy_tea", TEA).status == 200
        with pytest.raises(NeedsHumanError):
            agent.call_action(shop.origin, "buy_tea", TEA)

    exec(strict.text, names)  # noqa: S102
    with AgentClient(store, approval=names["policy"]) as agent:
        with pytest.raises(NeedsHumanError) as asked:
            agent.call_action(shop.origin, "buy_tea", TEA, confirm=True)
        code = agent.approval_code(asked.value.extra["approval"])
        assert agent.call_action(shop.origin, "buy_tea", TEA, confirm=True, code=code).status == 200
