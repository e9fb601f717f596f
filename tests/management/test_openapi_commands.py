"""``agentweb_from_openapi`` and ``agentweb_to_openapi``: files in, files out, and whether they are up to date."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
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
    assert call("agentweb_from_openapi", *arguments)[0] == f"{file} is written: 7 actions, 1 flow.\n"
    checked = call("agentweb_from_openapi", *arguments, "--check")[0]
    assert checked == f"{file} is up to date: 7 actions, 1 flow.\n"
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
    assert (json.loads(out)["actions"], json.loads(out)["flows"]) == (8, 0)


@pytest.mark.parametrize(
    ("there", "more", "code"),
    [
        (None, ["--check"], "missing"),
        ("{}\n", ["--check"], "different"),
        (None, ["--overlay", "nowhere.json"], "unreadable"),
        (None, ["--overlay", KENNEL], "faulty"),
    ],
    ids=["missing", "different", "overlay", "faulty"],
)
def test_what_went_wrong_is_in_the_json_too(
    tmp_path: Path, there: str | None, more: list[str], code: str
) -> None:
    file = tmp_path / "out.json"
    if there is not None:
        file.write_text(there)
    out = io.StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("agentweb_from_openapi", KENNEL, "--json", "--out", str(file), *more, stdout=out)
    told = json.loads(out.getvalue())
    assert (told["error"]["code"], told["error"]["message"]) == (code, str(caught.value))
    assert ("diff" in told["error"]) is (code == "different")
    assert bool(told["findings"]) is (code != "unreadable")


def test_a_document_in_yaml_is_read_as_the_same_in_json(tmp_path: Path) -> None:
    file = tmp_path / "kennel.yaml"
    file.write_text(yaml.safe_dump(json.loads(Path(KENNEL).read_text()), sort_keys=False))
    overlay = tmp_path / "overlay.yml"
    overlay.write_text(yaml.safe_dump(json.loads(Path(OVERLAY).read_text()), sort_keys=False))
    assert call("agentweb_from_openapi", str(file), "--overlay", str(overlay)) == call(
        "agentweb_from_openapi", KENNEL, "--overlay", OVERLAY
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"openapi: [3.0.0\n", "neither JSON nor YAML"),
        (b'{"a": 1, "a": 2}', "no JSON"),
        (None, "cannot be read"),
    ],
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
    said = call("agentweb_to_openapi", "--out", str(file), "--title", "The shop")[0]
    count = len(json.loads(call("agentweb_from_openapi", str(file))[0])["actions"])
    assert said.startswith(f"{file} is written: {count} action")
    document: Any = json.loads(file.read_text())
    assert (document["openapi"], document["info"]["title"]) == ("3.1.0", "The shop")
    checked = call("agentweb_to_openapi", "--out", str(file), "--title", "The shop", "--check")[0]
    assert checked.startswith(f"{file} is up to date: {count} action")
    again = json.loads(call("agentweb_from_openapi", str(file))[0])
    operations = [each for item in document["paths"].values() for each in item.values()]
    assert {each["name"] for each in again["actions"]} == {each["operationId"] for each in operations}
    assert again["site"] == "shop.example"
    assert "staff_report" not in file.read_text()


@pytest.mark.django_db
def test_check_needs_a_file() -> None:
    with pytest.raises(CommandError, match="--out"):
        call("agentweb_to_openapi", "--check")
