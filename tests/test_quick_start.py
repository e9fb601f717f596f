"""Three steps from startproject, as the README has them: then the documents are valid and the doctor is content."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from agentweb import exports
from agentweb.client.manifest import read_manifest
from tests.docs.pages import blocks
from tests.test_readme import README, Project

DOCTOR = ("agentweb_doctor", "--fail-level", "warning", "--json")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The site after the steps, never served."""
    project = Project(tmp_path_factory.mktemp("quick"), 8000)
    for command in ("migrate", "agentweb_keys create"):
        assert f"`python manage.py {command}`" in README
        project.manage(*command.split())
    return project


def deploy(start: str) -> str:
    """The snippet of docs/how-to/deploy.md that begins so."""
    [found] = [each.text for each in blocks("how-to/deploy.md", "python") if each.text.startswith(start)]
    return found


def rows(database: Path) -> dict[str, int]:
    """How many rows every table has."""
    with sqlite3.connect(database) as connection:
        names = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}  # noqa: S608


def test_the_readme_ends_the_steps_with_the_doctor() -> None:
    assert "`python manage.py agentweb_doctor`" in README


def test_the_doctor_has_nothing_to_say_under_debug(project: Project) -> None:
    before = rows(project.directory / "db.sqlite3")
    told = json.loads(project.manage(*DOCTOR))
    assert (told["summary"]["warning"], told["summary"]["error"]) == (0, 0), told
    assert told["summary"]["ok"] > 30
    assert rows(project.directory / "db.sqlite3") == before


def test_every_discovery_document_is_valid(project: Project) -> None:
    out = project.directory / "exported"
    project.manage("export_manifests", "--out", str(out))
    project.manage("export_manifests", "--out", str(out), "--check")
    index = json.loads((out / exports.INDEX).read_text())
    assert ".well-known/agent-actions.json" in index["files"]
    document = json.loads((out / ".well-known/agent-actions.json").read_text())
    manifest = read_manifest(document, site="127.0.0.1:8000", url=f"{project.origin}/x")
    assert list(manifest.actions) == ["add_to_cart"]
    assert all(action.schema() for action in manifest.actions.values())
    [listed] = json.loads(project.manage("agentweb_actions", "--json"))["actions"]
    assert (listed["name"], listed["source"]) == ("add_to_cart", "shop.agents.add_to_cart")


def test_the_doctor_has_nothing_to_say_of_a_site_that_is_deployed_as_the_page_says(project: Project) -> None:
    settings = [deploy("DEBUG = False"), deploy('DATABASES["default"]["OPTIONS"]')]
    settings.append("SECURE_SSL_REDIRECT = True\nSESSION_COOKIE_SECURE = True\n")
    production = project.directory / "mysite" / "production.py"
    production.write_text("from mysite.settings import *\n" + "\n".join(settings))
    told = json.loads(project.manage(*DOCTOR, "--settings", "mysite.production"))
    assert (told["summary"]["warning"], told["summary"]["error"]) == (0, 0), told
    assert {"D022", "D023", "D024", "D025"} <= {each["id"] for each in told["findings"]}
    project.manage("check", "--settings", "mysite.production", "--tag", "agentweb", "--fail-level", "WARNING")
