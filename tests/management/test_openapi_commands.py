"""``agentweb_from_openapi`` and ``agentweb_to_openapi``: files in, files out, and whether they are up to date."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.agent_actions.openapi.conftest import SPECS
from tests.support.web_fixtures import shop  # noqa: F401 - a fixture

KENNEL, OVERLAY = str(SPECS / "kennel.json"), str(SPECS / "kennel.overlay.json")


def call(name: str, *arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(name, *arguments, "--no-color", stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_manifest_goes_to_standard_output_and_the_losses_to_standard_error() -> None:
    out, err = call("agentweb_from_openapi", KENNEL, "--overlay", OVERLAY)
    manifest = json.loads(out)
    assert (manifest["site"], len(manifest["actions"])) == ("kennel.example", 7)
    assert "loss  GET /dogs (listDogs): The cookie 'session' is left out" in err
    assert call("agentweb_from_openapi", KENNEL, "--overlay", OVERLAY) == (out, err)


def test_a_file_is_written_and_checked(tmp_path: Path) -> None:
    file = tmp_path / "agent-actions.json"
    arguments = (KENNEL, "--overlay", OVERLAY, "--out", str(file))
    with pytest.raises(CommandError, match="is missing"):
        call("agentweb_from_openapi", *arguments, "--check")
    call("agentweb_from_openapi", *arguments)
    assert call("agentweb_from_openapi", *arguments, "--check")[0] == f"{file} is up to date.\n"
    file.write_text(file.read_text().replace("walks:book", "walks:sell"))
    out = io.StringIO()
    with pytest.raises(CommandError, match="not up to date"):
        call_command("agentweb_from_openapi", *arguments, "--check", stdout=out, stderr=io.StringIO())
    assert '-      "scope": "walks:sell",' in out.getvalue()
    assert '+      "scope": "walks:book",' in out.getvalue()


def test_with_an_error_nothing_is_written(tmp_path: Path) -> None:
    overlay, file = tmp_path / "overlay.json", tmp_path / "out.json"
    overlay.write_text('{"operations": {"bookWalks": {"effect": "spend"}}}')
    err = io.StringIO()
    with pytest.raises(CommandError, match="errors: 1"):
        call_command(
            "agentweb_from_openapi", KENNEL, overlay=str(overlay), out=str(file), stderr=err, no_color=True
        )
    assert "error  The overlay speaks of 'bookWalks'" in err.getvalue()
    assert not file.exists()


def test_the_report_is_json_for_scripts(tmp_path: Path) -> None:
    out, err = call("agentweb_from_openapi", KENNEL, "--json", "--out", str(tmp_path / "m.json"))
    findings = json.loads(out)["findings"]
    assert err == ""
    assert {tuple(each) for each in findings} == {("level", "where", "code", "message")}


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"openapi: 3.0.0\n", "YAML is not read"), (b'{"a": 1, "a": 2}', "no JSON"), (None, "cannot be read")],
    ids=["yaml", "doubled", "missing"],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    file = tmp_path / "spec"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(CommandError, match=message):
        call("agentweb_from_openapi", str(file))


@pytest.mark.django_db
@pytest.mark.usefixtures("shop")
def test_the_site_s_actions_are_written_as_openapi_and_read_back(tmp_path: Path) -> None:
    file = tmp_path / "openapi.json"
    call("agentweb_to_openapi", "--out", str(file), "--title", "The shop")
    document: Any = json.loads(file.read_text())
    assert (document["openapi"], document["info"]["title"]) == ("3.1.0", "The shop")
    assert call("agentweb_to_openapi", "--out", str(file), "--title", "The shop", "--check")[0].endswith(
        "is up to date.\n"
    )
    again = json.loads(call("agentweb_from_openapi", str(file))[0])
    operations = [each for item in document["paths"].values() for each in item.values()]
    assert {each["name"] for each in again["actions"]} == {each["operationId"] for each in operations}
    assert again["site"] == "shop.example"
    assert "staff_report" not in file.read_text()


@pytest.mark.django_db
def test_check_needs_a_file() -> None:
    with pytest.raises(CommandError, match="--out"):
        call("agentweb_to_openapi", "--check")
