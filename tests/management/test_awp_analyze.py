"""``manage.py awp_analyze``: what is printed in each format, and when it fails."""

from __future__ import annotations

import io
import json
import re
import sys
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command

from tests.awp.compliance.conftest import served, sound  # noqa: F401
from tests.awp.compliance.sites import FULL, LLMS, SUMMARY, TEAS, WELL_KNOWN, SoundSite

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sound")]


def analyze(*options: str, fails: str = "", code: int = 1) -> str:
    out = io.StringIO()
    if fails:
        with pytest.raises(CommandError, match=fails) as failed:
            call_command("awp_analyze", *options, stdout=out)
        assert failed.value.returncode == code
    else:
        call_command("awp_analyze", *options, stdout=out)
    return out.getvalue()


def test_a_sound_site_has_a_line_for_each_item_bars_and_the_score() -> None:
    told = analyze()
    assert told.startswith("AWP 1.0 on https://shop.example, in process\n\nRequired\n")
    assert len(re.findall(r"^  ✓ ", told, re.MULTILINE)) == 14
    assert told.count("█") > 7
    assert re.search(
        r"^Score 100 of 100: the site keeps AWP 1.0. Required 6 of 6, recommended 8 of 8; \d+ requests.$",
        told,
        re.MULTILINE,
    )


def test_a_site_that_has_the_room_off_is_told_so(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "ROOMS": ["aip", "agent_actions"]}
    assert analyze(fails="AWP is off on this site: .* does not name 'awp'", code=2) == ""


def test_a_requirement_that_is_not_met_fails_and_tells_place_and_fix(sound: SoundSite) -> None:  # noqa: F811
    sound.put(WELL_KNOWN, '{"version": "1.0",\n "name": "Shop",\n "description": "Tea"}')
    told = analyze(fails="Not met: awp/members.")
    assert f"      {WELL_KNOWN}:3:17: 'description' must have at least 10 characters; it has 3." in told
    assert "      Fix: Say in one or two sentences what the site is and what agents can do here." in told


@pytest.mark.parametrize(("level", "fails"), [("error", ""), ("warning", "awp/llms-txt"), ("never", "")])
def test_the_level_says_from_where_on_it_fails(sound: SoundSite, level: str, fails: str) -> None:  # noqa: F811
    sound.bodies.pop(LLMS)
    assert "Score 96 of 100" in analyze("--fail-level", level, fails=fails)


def test_never_is_never(sound: SoundSite) -> None:  # noqa: F811
    sound.bodies.clear()
    assert "does not keep AWP 1.0" in analyze("--fail-level", "never")


def test_json_sarif_and_junit_are_printed_alone(sound: SoundSite) -> None:  # noqa: F811
    sound.bodies.pop(FULL)
    assert json.loads(analyze("--format", "json", fails="awp/members"))["compliant"] is False
    assert json.loads(analyze("--format", "sarif", fails="awp/members"))["version"] == "2.1.0"
    assert ElementTree.fromstring(analyze("--format", "junit", fails="awp/members")).tag == "testsuites"  # noqa: S314


def test_a_url_is_asked_over_the_network(served: str, sound: SoundSite) -> None:  # noqa: F811
    told = analyze(served)
    assert told.startswith(f"AWP 1.0 on {served}, over the network\n")
    assert "Score 100 of 100" in told
    analyze(served, "--pages", "0")
    assert analyze(served, "--pages", "1").endswith(" 1 of 2 content pages were read.\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["shop.example"], "'shop.example' cannot be called"),
        (["https://10.0.0.1"], "not public; .* add --allow-private"),
        (["https://127.0.0.1:1"], "No connection"),
        (["--pages", "x"], "--pages: 'x' is not a whole number"),
        (["--pages", "-1"], "--pages: '-1'"),
    ],
    ids=["no-url", "private", "nobody-there", "no-number", "negative"],
)
def test_what_cannot_be_measured_is_another_failure(options: list[str], said: str) -> None:
    analyze(*options, fails=said, code=2)


def test_an_origin_that_is_none_is_told(settings: Any) -> None:
    settings.AGENTWEB = {"ORIGIN": "shop.example"}
    analyze(fails=r"AGENTWEB\['ORIGIN'\] cannot be called", code=2)


def test_a_site_whose_middleware_breaks_is_told(settings: Any) -> None:
    settings.MIDDLEWARE = [f"{__name__}.breaks"]
    assert "RuntimeError: broken" in analyze(fails="awp/manifest-json")


def breaks(get_response: Any) -> Any:
    def broken(request: Any) -> Any:
        raise RuntimeError("broken")

    return broken


def test_a_bar_shows_on_a_terminal_how_many_pages_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    analyze()
    assert "] 1/2" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_colours_and_signs_are_left_out_where_they_cannot_be_shown(sound: SoundSite) -> None:  # noqa: F811
    sound.put(SUMMARY, "tea " * 600)
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with pytest.raises(CommandError):
        call_command("awp_analyze", "--no-color", stdout=out)
    out.flush()
    told = out.buffer.getvalue().decode("ascii")  # type: ignore[attr-defined]
    assert "FAIL Nothing that is served is over" in told


def test_a_site_with_one_page_less_than_listed_says_so(sound: SoundSite) -> None:  # noqa: F811
    sound.bodies.pop(TEAS)
    assert "The content is listed and answers 404." in analyze()
