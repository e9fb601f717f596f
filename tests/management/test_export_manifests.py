"""``manage.py export_manifests``: writing, checking, and refusing."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import get_script_prefix

from agentweb import exports
from agentweb.catalog.words import action
from agentweb.management.commands._progress import progress
from tests.support.web_fixtures import shop  # noqa: F401

pytestmark = pytest.mark.usefixtures("shop")

MANIFEST = ".well-known/agent-actions.json"


@pytest.fixture(autouse=True)
def one_document(settings: Any) -> None:
    """The site speaks one protocol, so that there is one document to write."""
    settings.AGENTWEB = {**settings.AGENTWEB, "ROOMS": ["agent_actions"]}


def export(folder: Path, *options: str) -> str:
    out = io.StringIO()
    call_command("export_manifests", "--out", str(folder), *options, stdout=out)
    return out.getvalue()


def test_it_writes_and_then_finds_nothing_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "static" / "site"
    assert export(folder) == f"written  {folder / MANIFEST}\n"
    assert export(folder) == f"unchanged  {folder / MANIFEST}\n"
    assert "The one document" in export(folder, "--check")


def test_check_says_how_the_files_differ_and_writes_nothing(tmp_path: Path) -> None:
    export(tmp_path)
    before = (tmp_path / MANIFEST).read_bytes()
    action("brand_new", description="New.", input=None)(lambda _, ctx: None)
    out = io.StringIO()
    with pytest.raises(CommandError, match="1 different, 0 missing, 0 extra"):
        call_command("export_manifests", "--out", str(tmp_path), "--check", stdout=out)
    assert '+      "name": "brand_new",\n' in out.getvalue()
    assert (tmp_path / MANIFEST).read_bytes() == before


def test_check_of_a_folder_that_is_not_there_misses_everything(tmp_path: Path) -> None:
    folder = tmp_path / "none"
    with pytest.raises(CommandError, match="0 different, 1 missing, 0 extra"):
        export(folder, "--check")
    assert not folder.exists()


def test_what_was_edited_is_kept_and_told(tmp_path: Path) -> None:
    exports.write(tmp_path, {"old.json": b"1"})
    (tmp_path / "old.json").write_bytes(b"2")
    err = io.StringIO()
    call_command("export_manifests", "--out", str(tmp_path), stdout=io.StringIO(), stderr=err)
    assert f"kept  {tmp_path / 'old.json'}" in err.getvalue()


@pytest.mark.parametrize("given", ["/shop", "shop", "/shop/"])
def test_the_script_name_stands_before_the_paths(tmp_path: Path, given: str) -> None:
    export(tmp_path, "--script-name", given)
    text = (tmp_path / MANIFEST).read_text()
    assert '"path":"/shop/agent/search_products"' in text
    assert "https://shop.example/shop/agent-actions/receipts" in text
    assert get_script_prefix() == "/"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="is not a folder"):
        export(tmp_path / "file")


def test_an_error_is_one_sentence(tmp_path: Path, settings: object) -> None:
    settings.AGENTWEB = {}  # type: ignore[attr-defined]
    with pytest.raises(CommandError, match="ORIGIN"):
        export(tmp_path)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_is_drawn_on_a_terminal_only_and_wiped_out() -> None:
    plain, terminal = io.StringIO(), Terminal()
    assert list(progress("abc", 3, to=plain)) == ["a", "b", "c"]
    assert plain.getvalue() == ""
    assert list(progress("abc", 3, to=terminal)) == ["a", "b", "c"]
    assert "[####################..........] 2/3" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_an_empty_name_is_no_folder() -> None:
    with pytest.raises(CommandError, match="names no folder"):
        call_command("export_manifests", "--out", "")


@pytest.mark.parametrize("name", [MANIFEST, exports.INDEX])
@pytest.mark.parametrize("option", [(), ("--check",)])
def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(
    name: str, option: tuple[str, ...], tmp_path: Path
) -> None:
    pipe = tmp_path / name
    pipe.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(pipe)
    with pytest.raises(CommandError, match="is not"):
        export(tmp_path, *option)
