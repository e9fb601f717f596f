"""``manage.py agentweb_content``: pages in, and what is not published told."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agentweb.awp.content import runs
from agentweb.awp.content.models import ContentPage, ContentRun
from tests.awp.content.conftest import site  # noqa: F401 - a fixture


def call(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("agentweb_content", *arguments, "--no-color", stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def only(site: Any, *paths: str) -> None:  # noqa: F811
    site.sitemaps = {"shop": site.Paths(*paths)}


def test_it_says_what_became_of_the_pages(site: Any) -> None:  # noqa: F811
    only(site, "/articles/red/", "/private/", "/crash/")
    out, err = call()
    assert out.startswith("Pages: 1 new, 0 unchanged, 1 left out, 1 failed; ")
    assert out.endswith("Not every page could be confirmed.\n")
    assert "left out  /private/ (en-us): it needs a login (/enter/?next=/private/)\n" in err
    assert "failed  /crash/ (en-us): it raised an error (RuntimeError: the shelf fell over)\n" in err


def test_a_site_that_has_the_room_off_is_told_so(site: Any, settings: Any) -> None:  # noqa: F811
    settings.AGENTWEB = {**settings.AGENTWEB, "ROOMS": ["aip"]}
    with pytest.raises(CommandError, match="AWP is off on this site"):
        call()
    assert not ContentRun.objects.exists()


@pytest.mark.parametrize("debug", [True, False])
def test_without_an_origin_it_stops_unless_under_debug(site: Any, settings: Any, debug: bool) -> None:  # noqa: F811
    only(site)
    settings.DEBUG = debug
    settings.AGENTWEB = {name: value for name, value in settings.AGENTWEB.items() if name != "ORIGIN"}
    if debug:
        assert call()[0].startswith("Pages: ")
        return
    with pytest.raises(CommandError, match=r"AGENTWEB\['ORIGIN'\] is not set"):
        call()
    assert not ContentRun.objects.exists()


def select(settings: Any, selector: str) -> None:
    settings.AGENTWEB = {
        **settings.AGENTWEB,
        "AWP": {**settings.AGENTWEB["AWP"], "SELECTOR": selector},
    }


def test_what_is_no_selector_is_said_once_and_no_page_is_touched(site: Any, settings: Any) -> None:  # noqa: F811
    only(site, "/articles/red/", "/articles/blue/")
    call()
    select(settings, "main >")
    out, err = call()
    assert err.count("AGENTWEB['AWP']['SELECTOR']: no page can be looked at with it ('main >' is no CSS") == 1
    assert len(err.splitlines()) == 1
    assert out.startswith("Pages: 0 unchanged, 1 failed; ")
    assert ContentPage.objects.count() == 2


def test_a_selector_that_finds_nothing_anywhere_is_said(site: Any, settings: Any) -> None:  # noqa: F811
    only(site, "/articles/red/", "/articles/blue/")
    select(settings, "#no-such-thing")
    _out, err = call()
    assert err == (
        "AGENTWEB['AWP']['SELECTOR'] finds nothing on any of the 2 pages that were converted: their main content was "
        "looked for as if it were unset.\n"
    )
    select(settings, "main")
    assert call()[1] == ""


def test_a_page_is_told_once_with_its_languages(site: Any, settings: Any) -> None:  # noqa: F811
    settings.LANGUAGES = [("en-us", "English"), ("de", "German")]
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.middleware.locale.LocaleMiddleware"]
    only(site, "/crash/")
    assert (
        call()[1] == "failed  /crash/ (en-us, de): it raised an error (RuntimeError: the shelf fell over)\n"
    )


def test_json_is_one_object(site: Any) -> None:  # noqa: F811
    only(site, "/articles/red/", "/private/")
    out, err = call("--json")
    told = json.loads(out)
    assert 0 <= told.pop("seconds") < 60
    assert told == {
        "is_complete": True,
        "created": 1,
        "changed": 0,
        "unchanged": 0,
        "removed": 0,
        "left_out": 1,
        "failed": 0,
        "not_published": [
            {
                "path": "/private/",
                "language": "en-us",
                "reason": "login",
                "detail": "/enter/?next=/private/",
                "is_failure": False,
            }
        ],
        "remarks": [],
    }
    assert err == ""


def test_a_page_that_failed_ends_a_strict_call_with_an_error(site: Any) -> None:  # noqa: F811
    only(site, "/crash/", "/articles/red/")
    with pytest.raises(CommandError, match="Failed pages: 1"):
        call("--strict")
    assert ContentPage.objects.count() == 1


@pytest.mark.parametrize("workers", ["0", "65", "two"])
def test_a_number_of_workers_that_cannot_be_is_refused(site: Any, workers: str) -> None:  # noqa: F811
    with pytest.raises(CommandError, match="--workers"):
        call("--workers", workers)
    assert not ContentRun.objects.exists()


def test_while_another_run_is_at_work_nothing_is_done(site: Any) -> None:  # noqa: F811
    runs.begin()
    with pytest.raises(CommandError, match=r"Another run is at work since .* nothing was done"):
        call()
    assert not ContentPage.objects.exists()


def test_a_site_under_a_prefix_is_looked_at_there(site: Any) -> None:  # noqa: F811
    only(site, "/shop/articles/red/")
    call("--script-name", "/shop")
    assert dict(ContentPage.objects.values_list("slug", "path")) == {"articles/red": "/shop/articles/red/"}
