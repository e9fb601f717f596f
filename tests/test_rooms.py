"""A room that is added joins the export and the doctor by what it declares, without a change elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentweb
from agentweb import exports, rooms
from agentweb.doctor.examination import Finding, examine
from agentweb.doctor.probes import all_probes
from agentweb.http import doors
from agentweb.http.probes import Level
from tests.doctor.conftest import site  # noqa: F401

URLS = """
from django.urls import path, re_path
from agentweb.http.doors import Door, advertise
from agentweb.http.headers import Document, answer_document
from agentweb.http.views import AgentView
from agentweb.made_up_room.documents import content

class CardView(AgentView):
    limits_anonymous = False
    def get(self, request, **captured):
        return answer_document(self.http_request, Document(CONTENT or content(None)), is_public=True)

CONTENT = None
well_known = [re_path(r"^\\.well-known/card\\.json/?$", CardView.as_view())]
urlpatterns = []
advertise(Door("card", "/.well-known/card.json", "application/json", is_well_known=True))
"""
DOCUMENTS = """
from agentweb.http.documents import PublicDocument

def content(place):
    return b'{"card":1}'

def documents():
    return [PublicDocument("/.well-known/card.json", "application/json", content, is_well_known=True)]
"""
PROBES = """
from agentweb.http.probes import Level, Probe, Problem

def look(site):
    answer = site.ask("GET", "/.well-known/card.json")
    return [] if answer.body == b'{"card":1}' else [Problem("The card is another.", "Print it anew.")]

PROBES = (Probe("D900", Level.WARNING, "The card is ours.", look),)
"""


@pytest.fixture
def room(site: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Any]:  # noqa: F811
    """A package ``agentweb.made_up_room``, switched on and included; answers with its module of URLs."""
    folder = tmp_path / "made_up_room"
    folder.mkdir()
    for name, text in (("__init__", ""), ("urls", URLS), ("documents", DOCUMENTS), ("probes", PROBES)):
        (folder / f"{name}.py").write_text(text)
    (folder / "checks.py").write_text("CHECKS = ()\n")
    monkeypatch.setattr(agentweb, "__path__", [*agentweb.__path__, str(tmp_path)])
    monkeypatch.setattr(rooms, "ROOMS", (*rooms.ROOMS, "made_up_room"))
    before = dict(doors._doors)
    from agentweb import urls

    class Including:
        urlpatterns = (*rooms.well_known(), *urls.urlpatterns)

    settings.ROOT_URLCONF = Including
    settings.SILENCED_SYSTEM_CHECKS = ["agentweb.E004"]  # its files are elsewhere
    try:
        yield sys.modules["agentweb.made_up_room.urls"]
    finally:
        doors._doors.clear()
        doors._doors.update(before)
        for name in [each for each in sys.modules if each.startswith("agentweb.made_up_room")]:
            del sys.modules[name]


def findings() -> list[Finding]:
    return list(examine(all_probes()))


def test_its_documents_are_exported(room: Any) -> None:
    assert dict(exports.contents(exports.here()))[".well-known/card.json"] == b'{"card":1}'


def test_the_doctor_calls_them_and_runs_its_probes(room: Any) -> None:
    found = findings()
    assert [each for each in found if each.level is not Level.OK] == []
    assert "The card is ours." in {each.text for each in found}


def test_the_doctor_sees_what_is_wrong_with_them(room: Any) -> None:
    room.CONTENT = b'{"card":2}'
    assert {each.id for each in findings() if each.level is not Level.OK} == {"D055", "D900"}


def test_a_room_needs_neither_documents_nor_probes(room: Any, tmp_path: Path) -> None:
    for name in ("documents", "probes"):
        (tmp_path / "made_up_room" / f"{name}.py").unlink()
        sys.modules.pop(f"agentweb.made_up_room.{name}", None)
    import importlib

    importlib.invalidate_caches()
    assert ".well-known/card.json" not in dict(exports.contents(exports.here()))
    assert "D900" not in {each.id for each in findings()}
