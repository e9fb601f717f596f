"""What docs/how-to/message-other-agents.md shows works against the tutorial's shop."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentweb.wire.errors import Code
from tests.docs.pages import DOCS, blocks
from tests.docs.tutorial import Site

PAGE = "how-to/message-other-agents.md"


def test_the_agents_talk_and_carol_does_from_the_shell(
    shop: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    worked: list[Any] = []
    names: dict[str, Any] = {"SERVICE": shop.origin, "work_on": worked.append}
    connect, send, answer, keep_up, survive, sealed = blocks(PAGE, "python")

    def run(text: str) -> str:
        exec(text, names)  # noqa: S102
        return capsys.readouterr().out

    host = shop.origin.partition("://")[2]
    with contextlib.ExitStack() as stack:
        assert run(connect.text) == f"alice@{host}\n"
        stack.callback(names["alice"].close)
        assert re.fullmatch(r"m[\w-]{22} 20\S+Z\n", run(send.text))
        stack.callback(names["bob"].close)
        asked, both = run(answer.text).splitlines()
        assert asked.endswith(f"@{host} {{'text': 'Do you have sencha?'}}")
        assert both == str([{"text": "Yes, 9 a packet."}, {"text": "Do you have sencha?"}])
        assert run(keep_up.text) == ""
        assert [message.body for message in worked] == [{"text": "Yes, 9 a packet."}]
        waiting = names["bob"].prepare(f"alice@{host}", {"text": "after the crash"})
        assert run(survive.text) == f"{waiting.id} accepted\n"
        assert run(sealed.text) == "{'text': 'The code is 1234.'}\n"

    carol, trial = blocks(PAGE, "sh")
    said = [
        shop.run(f"cd {tmp_path} && {command}", SERVICE=shop.origin, HOST=host)
        for command in (carol.text + trial.text).splitlines()
    ]
    assert said[0] == f"carol@{host}\n"
    prepared = json.loads(said[2])
    assert (prepared["type"], prepared["from"]) == ("sealed", f"carol@{host}")
    assert said[3].startswith(f"{prepared['id']} accepted at ")
    assert {json.loads(line)["type"] for line in said[4].splitlines()} == {"message", "contact.accepted"}
    assert said[5].count(f"from carol@{host}") == 2
    assert '{"order":7}' in said[5]
    assert said[6] == f"carol@{host} is a contact.\n"
    assert "Is the shop open?" in said[7]
    assert said[8].splitlines()[-1].startswith("inbox: ")


def test_the_codes_it_explains_are_codes() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8").partition("## When it is refused")[2]
    codes = {
        code
        for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
        for code in re.findall(r"`(\w+)`", row)
    }
    assert codes - set(Code) == {"key_changed", "work_too_hard"}
    assert len(codes) == 10
