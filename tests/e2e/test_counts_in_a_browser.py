"""The chart of agents' requests in the admin, in a real browser, light and dark, wide and narrow."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as site
from django.contrib import admin
from django.contrib.staticfiles.views import serve
from django.urls import include, path

from agentweb import conf
from agentweb.awp.analytics.models import AgentRequests
from agentweb.awp.analytics.reading import today
from tests.support.browsers import chromium, faults
from tests.support.staff import boss, browser, page

__all__ = ["chromium"]

pytestmark = pytest.mark.django_db(transaction=True)


class WithStyles:
    urlpatterns = (
        path("static/<path:path>", serve, {"insecure": True}),
        path("admin/", admin.site.urls),
        path("", include("agentweb.urls")),
    )


@pytest.fixture
def origin(request: pytest.FixtureRequest, settings: Any) -> str:
    # The server would look for files of STATIC_ROOT there; these are served by the URLconf.
    settings.STATIC_URL = "/unused/"
    live_server = request.getfixturevalue("live_server")
    settings.ROOT_URLCONF = WithStyles
    settings.STATIC_URL = "/static/"
    return str(live_server.url)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 400)])
def test_the_chart_and_its_tables_shut_nobody_out(
    chromium: Any, origin: str, scheme: str, width: int
) -> None:
    for number, protocol in enumerate([*conf.ROOMS, "mcp"], 1):
        day = today() - timedelta(days=number)
        AgentRequests.objects.create(day=day, protocol=protocol, family="OpenAI", requests=number * 7)
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    session = browser(boss()).cookies[site.SESSION_COOKIE_NAME].value
    context.add_cookies([{"name": site.SESSION_COOKIE_NAME, "value": session, "url": origin}])
    found = context.new_page()
    found.goto(origin + page("agentrequests"))
    chart = found.get_by_role("img", name="Requests of agents a day, by protocol")
    assert chart.bounding_box()["height"] > 40
    found.get_by_text("The numbers as tables").click()
    assert found.get_by_role("table", name="Requests a day, by protocol").is_visible()
    assert faults(found) == []
    context.close()
