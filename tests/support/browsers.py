"""A real headless Chromium, Debian's, driven by Playwright; and axe, which looks for faults that shut people out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")
SERIOUS = frozenset({"serious", "critical"})
EVERY = SERIOUS | {"minor", "moderate"}


def executable() -> str:
    """The browser's path. Skip where there is none; fail where there must be one (AGENTWEB_REQUIRE_SERVICES=1)."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        if os.environ.get("AGENTWEB_REQUIRE_SERVICES") == "1":
            raise AssertionError("Chromium is not installed: apt-get install chromium")
        pytest.skip("Chromium is not installed")
    return str(found)


@pytest.fixture
def chromium(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A running browser without a window (playwright.sync_api.Browser)."""
    sync_api = pytest.importorskip("playwright.sync_api")
    path = executable()
    # Playwright's loop runs in this thread, and Django would refuse to ask the database beside it.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        try:
            yield browser
        finally:
            browser.close()
            # Beside a loop Django has connections of their own, which nobody else would close.
            connections.close_all()


def faults(page: Any, impacts: frozenset[str] = SERIOUS) -> list[str]:
    """What axe finds of these impacts on the page, in words."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']} ({each['impact']}): {each['help']}: {[node['html'] for node in each['nodes']]}"
        for each in found
        if each["impact"] in impacts
    ]


def ticks(page: Any, name: str) -> dict[str, bool]:
    """Which boxes of this name are ticked, by their values."""
    found: dict[str, bool] = page.locator(f"input[name={name}]").evaluate_all(
        "boxes => Object.fromEntries(boxes.map(each => [each.value, each.checked]))"
    )
    return found


def tab_to(page: Any, **wanted: str) -> None:
    """Press Tab until the element with these attributes has the focus, as a person without a mouse does."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(
            "wanted => Object.entries(wanted).every(([n, v]) => document.activeElement.getAttribute(n) === v)",
            wanted,
        ):
            return
    raise AssertionError(f"Tab never reaches {wanted}")
