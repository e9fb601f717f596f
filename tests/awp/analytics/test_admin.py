"""The counts in the admin: a chart, the same as tables, and the rows; and how long they are kept."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from xml.etree import ElementTree

import pytest
from django.test import override_settings

from agentweb.awp.analytics import charts
from agentweb.awp.analytics.models import AgentRequests
from agentweb.awp.analytics.retention import clear
from agentweb.testing import clock
from tests.support.staff import boss, browser, page, staff, text_of

NOW = 1_800_000_000
TODAY = date(2027, 1, 15)


def count(days_ago: int, protocol: str, family: str, requests: int) -> None:
    day = TODAY - timedelta(days=days_ago)
    AgentRequests.objects.create(day=day, protocol=protocol, family=family, requests=requests)


def shown(query: str = "") -> str:
    with clock(NOW):
        answer = browser(boss()).get(page("agentrequests") + query)
    assert answer.status_code == 200
    return str(answer.content.decode())


@pytest.mark.django_db
def test_the_chart_and_its_tables_say_the_same() -> None:
    count(0, "awp", "OpenAI", 12)
    count(0, "aip", "OpenAI", 3)
    count(2, "awp", "<Others>", 1_234)
    count(29, "aip", "Browsers", 7)
    count(30, "aip", "Browsers", 99)
    html = shown()
    [svg] = re.findall(r'<svg class="agentweb-chart".*?</svg>', html, re.DOTALL)
    bars = [title.text for title in ElementTree.fromstring(svg).iter("title")][1:]  # noqa: S314 - our own
    assert bars == [
        "2026-12-17 aip: 7",
        "2027-01-13 awp: 1,234",
        "2027-01-15 awp: 12",
        "2027-01-15 aip: 3",
    ]
    assert 'role="img"' in svg
    tables = re.findall(r'<table class="agentweb-numbers">.*?</table>', html, re.DOTALL)
    cells = [re.findall(r"<t[hd](?: [^>]*)?>(.*?)</t[hd]>", table) for table in tables]
    assert cells[0] == [
        *("Day (UTC)", "awp", "aip", "Together"),
        *("2027-01-15", "12", "3", "15"),
        *("2027-01-13", "1234", "0", "1234"),
        *("2026-12-17", "0", "7", "7"),
    ]
    assert cells[1] == [
        "Kind of agent",
        "Requests",
        "&lt;Others&gt;",
        "1234",
        "OpenAI",
        "15",
        "Browsers",
        "7",
    ]
    assert 'scope="row"' in tables[0]


@pytest.mark.django_db
def test_a_site_without_requests_says_so() -> None:
    html = shown()
    assert "No requests of agents were counted" in html
    assert "agentweb-chart" not in html
    with override_settings(AGENTWEB={"ORIGIN": "https://shop.example", "AWP": {"ANALYTICS": False}}):
        assert "Requests are not counted at the moment" in shown()


@pytest.mark.django_db
def test_only_who_may_view_them_sees_them_and_nobody_changes_them() -> None:
    count(0, "awp", "OpenAI", 12)
    client = browser(staff("view_agentrequests"))
    assert "OpenAI" in text_of(client.get(page("agentrequests")))
    assert client.get(page("agentrequests", "add")).status_code == 403
    key = AgentRequests.objects.get().pk
    assert client.post(page("agentrequests", "delete", key), {"post": "yes"}).status_code == 403
    assert browser(staff("view_grant", name="other")).get(page("agentrequests")).status_code == 403


@pytest.mark.django_db
def test_rows_are_narrowed_by_protocol_and_kind() -> None:
    count(0, "awp", "OpenAI", 12)
    count(40, "aip", "Browsers", 7)
    rows = re.compile(r'<td class="field-requests">(\d+)')
    assert rows.findall(shown()) == ["12", "7"]
    assert rows.findall(shown("?protocol__exact=aip")) == ["7"]
    assert rows.findall(shown("?family__exact=OpenAI")) == ["12"]


@pytest.mark.django_db
def test_counts_of_long_ago_are_deleted() -> None:
    count(400, "aip", "OpenAI", 1)
    count(401, "aip", "OpenAI", 2)
    assert clear(datetime.fromtimestamp(NOW, tz=UTC)) == 1
    assert AgentRequests.objects.get().requests == 1
    with override_settings(AGENTWEB={"ORIGIN": "https://shop.example", "AWP": {"ANALYTICS_DAYS": 10}}):
        assert clear(datetime.fromtimestamp(NOW, tz=UTC)) == 1


@pytest.mark.parametrize(
    ("most", "top"),
    [(0, 2), (1, 2), (2, 2), (3, 4), (5, 10), (11, 20), (40, 40), (41, 100), (10**9 + 1, 2 * 10**9)],
)
def test_the_scale_ends_at_a_round_even_number(most: int, top: int) -> None:
    chart = charts.columns({TODAY: {"aip": most}}, ["aip"])
    assert [line.label for line in chart.lines] == ["0", f"{top // 2:,}", f"{top:,}"]


def test_columns_stand_on_each_other_and_fit_the_chart() -> None:
    days = {TODAY - timedelta(days=ago): {"aip": 10, "awp": 30, "aim": 0} for ago in range(29, -1, -1)}
    chart = charts.columns(days, ["awp", "aip", "aim"])
    assert len(chart.bars) == 60
    first, second = chart.bars[:2]
    assert (first.series, second.series) == (0, 1)
    assert first.y == pytest.approx(second.y + second.height)
    assert first.y + first.height == pytest.approx(chart.bottom)
    assert all(bar.y >= 0 and bar.x >= chart.left and bar.x + bar.width <= chart.width for bar in chart.bars)
    assert 4 <= len(chart.ticks) <= 8


def test_every_protocol_has_a_colour() -> None:
    from pathlib import Path

    import agentweb
    from agentweb import conf

    css = (Path(agentweb.__file__).parent / "static/agentweb/admin.css").read_text(encoding="utf-8")
    assert all(f".agentweb-series-{number} " in css for number in range(len(conf.ROOMS) + 2))
