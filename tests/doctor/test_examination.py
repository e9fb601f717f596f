"""What an examination as a whole does: it is clean for a sound site, changes nothing, and survives anything."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.urls import include, path

from agentweb import action, conf, flow, rooms
from agentweb.access.models import Bucket, SiteKey
from agentweb.agent_actions import published
from agentweb.catalog.registry import registry
from agentweb.doctor import database_probes, probes
from agentweb.doctor.examination import Examination, Finding, examine, summary
from agentweb.http.probes import Examined, Level, Probe, Problem
from agentweb.invoke.models import AuditEntry
from agentweb.people import urls as people_urls
from tests.doctor import tampering
from tests.doctor.conftest import ORDER
from tests.site.models import Note

Wrong = Callable[[], list[Finding]]


def test_a_sound_site_has_nothing_to_complain_about(wrong: Wrong) -> None:
    assert wrong() == []


def test_every_probe_says_that_all_is_well_in_one_line(site: None) -> None:
    found = list(examine(probes.all_probes()))
    ids = [each.id for each in found]
    assert len(ids) == len(set(ids))
    assert all(each.text and not each.fix for each in found)
    assert {"D001", "D010", "D030", "D050", "D062", "D100", "D106"} <= set(ids)
    assert summary(found) == {"ok": len(found), "warning": 0, "error": 0}


def test_of_a_site_without_actions_it_is_not_said_that_each_of_them_works(site: None) -> None:
    with registry.only():
        published.forget()
        found = {each.id: each for each in examine(probes.all_probes())}
    published.forget()
    assert not {"D101", "D102", "D103", "D104", "D105"} & found.keys()
    assert "No action is registered" in found["D011"].text


def test_a_site_with_everything_switched_on_is_as_sound(wrong: Wrong, settings: Any) -> None:
    settings.AGENTWEB = {
        **settings.AGENTWEB,
        "FLOWS_ON_SERVER": True,
        "GRANT_REQUESTS": True,
        "NEGOTIATOR": "tests.doctor.test_examination.bargains",
        "ROOMS": list(conf.ROOMS),
    }
    # What a site that starts with these settings includes.
    included = [*rooms.well_known(), *rooms.urlpatterns(), *people_urls.urlpatterns]
    settings.ROOT_URLCONF = type("Site", (), {"urlpatterns": (path("", include((included, "agentweb"))),)})
    flow("compare_twice", steps=[{"action": "compare"}, {"action": "compare"}])
    published.forget()
    # D011 is what the system checks say: here, that nobody can log in, and that nothing has a price.
    assert [each for each in wrong() if each.id != "D011"] == []


def bargains(*_: Any) -> None:
    raise AssertionError("the doctor makes no offers")


def test_a_site_under_a_path_is_as_sound(wrong: Wrong, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.doctor.urls_under_a_path"
    assert wrong() == []


def test_a_site_under_a_script_name_is_as_sound(wrong: Wrong, settings: Any, script_name: None) -> None:
    assert wrong() == []
    assert Examination().place.prefix == "/shop"


@pytest.mark.parametrize("slash", [True, False])
def test_append_slash_makes_no_difference(wrong: Wrong, settings: Any, slash: bool) -> None:
    settings.APPEND_SLASH = slash
    assert wrong() == []


def test_a_catch_all_behind_us_makes_no_difference(wrong: Wrong, settings: Any) -> None:
    settings.ROOT_URLCONF = tampering.CatchAll
    assert wrong() == []


def test_nothing_is_left_behind(site: None) -> None:
    @action(description="Writes.", input=None)
    def writes(_inp: Any, ctx: Any) -> Any:
        Note.objects.create(text="left behind")
        return {}

    counted = (Bucket, AuditEntry, SiteKey, Note)
    before = [model.objects.count() for model in counted]
    list(examine(probes.all_probes()))
    assert [model.objects.count() for model in counted] == before
    # Not only because nothing was written: the transaction of the test itself is still open and good.
    assert connection.in_atomic_block
    assert not connection.needs_rollback


def test_a_read_may_open_a_durable_transaction(wrong: Wrong) -> None:
    @action(description="Durable.", input=None)
    def durable(_inp: Any, ctx: Any) -> Any:
        with transaction.atomic(durable=True):
            return {"notes": Note.objects.count()}

    assert wrong() == []


def test_no_admin_is_mailed_about_what_a_probe_found(
    site: None, settings: Any, mailoutbox: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    settings.ADMINS = ["ann@shop.example"]
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"{tampering.HERE}.crashes"]
    with caplog.at_level(logging.WARNING):
        found = [each for each in examine(probes.all_probes()) if each.id == "D050"]
    assert mailoutbox == []
    assert caplog.records == []
    assert "RuntimeError: the middleware is broken" in found[0].text


def test_the_site_s_loggers_are_as_before(site: None) -> None:
    logger = logging.getLogger("agentweb.http")
    handler = logging.NullHandler()
    logger.addHandler(handler)
    try:
        Examination().ask("GET", tampering.MANIFEST)
        assert logger.handlers == [handler]
        assert logger.propagate
    finally:
        logger.removeHandler(handler)


def test_a_question_is_asked_once(site: None) -> None:
    calls = []

    @action(description="Count.", input=None)
    def count_me(_inp: Any, ctx: Any) -> Any:
        calls.append(1)
        return {}

    list(examine(probes.all_probes()))
    assert calls == [1]


def _breaks(site: Examined) -> list[Problem]:
    raise LookupError("no such thing")


def test_a_probe_that_breaks_is_a_finding_and_stops_no_other(site: None) -> None:
    broken = Probe("D999", Level.WARNING, "Never.", _breaks)
    after = Probe("D998", Level.WARNING, "Fine.", lambda site: [])
    found = list(examine([broken, after]))
    assert [(each.id, each.level) for each in found] == [("D001", Level.ERROR), ("D998", Level.OK)]
    assert "D999" in found[0].text
    assert "LookupError: no such thing" in found[0].text


def test_a_probe_with_nothing_to_look_at_says_nothing(site: None) -> None:
    assert [each.id for each in examine([Probe("D999", Level.ERROR, "Fine.", lambda site: None)])] == ["D001"]


def test_what_is_for_production_is_only_noted_under_debug(site: None, settings: Any) -> None:
    probe = Probe(
        "D999",
        Level.ERROR,
        "Fine.",
        lambda site: [Problem("It is broken.", "Mend it.")],
        is_for_production=True,
    )
    settings.DEBUG = True
    [noted, _runs] = examine([probe])
    assert noted == Finding(Level.OK, "D999", "Only noted under DEBUG: It is broken.", "Mend it.")
    settings.DEBUG = False
    [found, _runs] = examine([probe])
    assert found.level is Level.ERROR


def test_a_database_that_does_not_answer_is_the_one_error(
    wrong: Wrong, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise OperationalError("connection refused")

    with monkeypatch.context() as patched:
        patched.setattr(connection, "ensure_connection", fails)
        found = wrong()
    assert [each.id for each in found] == ["D020"]
    assert "connection refused" in found[0].text


def test_before_migrate_there_is_one_error_that_says_so(wrong: Wrong) -> None:
    MigrationRecorder.Migration.objects.filter(app="agentweb").delete()
    found = wrong()
    assert [each.id for each in found] == ["D021"]
    assert found[0].fix == "Run `manage.py migrate`."


def test_a_site_without_an_origin_is_taken_for_runserver(wrong: Wrong, settings: Any) -> None:
    settings.AGENTWEB = {}
    settings.DEBUG = True
    settings.ALLOWED_HOSTS = []
    settings.SECURE_SSL_REDIRECT = False
    assert wrong() == []


def test_ids_are_unique_and_levels_are_no_ok() -> None:
    found = probes.all_probes()
    assert len({probe.id for probe in found}) == len(found)
    assert all(probe.level is not Level.OK for probe in found)
    assert database_probes.PROBES[0].id == "D020"


def test_a_handler_s_order_is_called_with_its_path(site: None) -> None:
    answer = Examination().ask("GET", "/orders/7")
    assert (answer.status, answer.body) == (200, b'{"id":7}')
    assert ORDER["required"] == ["id"]
