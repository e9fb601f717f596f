"""What docs/reference/client.md shows works against a real shop, and its tables are the code's."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import pytest

from agentweb import client
from agentweb.client import ActionResult, AgentClient, ApprovalPolicy, FlowResult, KeyStore, Messenger
from agentweb.client.command_line import main
from tests.docs.pages import DOCS, blocks
from tests.docs.tutorial import Site

PAGE = "reference/client.md"
TEXT = (DOCS / PAGE).read_text(encoding="utf-8")


def section(heading: str) -> str:
    return TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def first_cells(text: str) -> set[str]:
    cells = [row.partition(" | ")[0] for row in text.splitlines() if row.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`(\w+)", cell)}


def test_the_snippets_run_in_the_shop_of_the_tutorial(
    shop: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    key = KeyStore("agent-keys.json").key.public
    grant = shop.run(
        f"python manage.py issue_grant --agent-key {key} --scope tea:buy --mandate USD:90.00/90.00"
    )
    buying, failing, finding = blocks(PAGE, "python")
    names = {"SHOP": shop.origin, "GRANT": grant}
    exec(buying.text.replace('"6.50"', "6.5"), names)  # noqa: S102
    cost = re.escape("{'amount': '6.50', 'currency': 'USD'}")
    assert re.fullmatch(rf"{key}\n{cost}\nrc_[\w-]{{22}}\n", capsys.readouterr().out)
    exec(failing.text, names)  # noqa: S102
    assert capsys.readouterr().out.startswith("/packets ")
    exec(finding.text, names)  # noqa: S102
    assert f"{shop.origin} buy_tea spend " in capsys.readouterr().out


def test_the_tables_name_every_argument_and_member() -> None:
    names = first_cells(section("`AgentClient`"))
    public = {name for name in vars(AgentClient) if not name.startswith("_")}
    assert names == set(inspect.signature(AgentClient).parameters) | public
    messenging = {name for name in vars(Messenger) if not name.startswith("_")}
    assert messenging <= first_cells(section("Messenger"))
    fields = {field.name for field in dataclasses.fields(ActionResult)}
    assert first_cells(section("Results")) == fields | {"ActionResult", "json"}
    flow_fields = {field.name for field in dataclasses.fields(FlowResult)}
    assert flow_fields <= first_cells(section("Flows"))
    policy = {field.name for field in dataclasses.fields(ApprovalPolicy)}
    assert policy <= first_cells(section("Approval"))
    errors = {name for name in client.__all__ if name.endswith("Error")}
    assert errors <= first_cells(section("Errors"))


def test_every_command_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    helped = re.findall(r"^    ([a-z-]+)(?:  |$)", capsys.readouterr().out, re.MULTILINE)
    assert re.findall(r"^\| `([a-z-]+)", section("Command line"), re.MULTILINE) == helped


def test_the_codes_beside_the_common_ones_are_listed() -> None:
    package = Path(client.__file__).parent
    source = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    own = set(re.findall(r'"((?:keystore|outcome)_[a-z]+)"', source))
    own |= set(re.findall(r'^[A-Z_]+(?:: Final)? = "((?:not|key|work|trial)_[a-z_]+)"', source, re.MULTILINE))
    assert own >= {"not_connected", "key_changed", "work_too_hard", "trial_failed"}
    assert own <= first_cells(section("Errors"))
