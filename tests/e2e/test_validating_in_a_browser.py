"""A manifest is validated in a real browser: by keyboard, without JavaScript, and shutting nobody out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.awp.compliance.sites import manifest
from tests.e2e.test_pairing_in_a_browser import look, origin
from tests.support.browsers import chromium, tab_to

__all__ = ["chromium", "origin"]

pytestmark = pytest.mark.django_db(transaction=True)

LONG_LINE = '{"version": "1.0", "description": "' + "x" * 150 + '",\n "name": ""}'


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_a_manifest_is_validated_by_keyboard_and_nobody_is_shut_out(
    origin: str, chromium: Any, scheme: str, width: int
) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(f"{origin}/awp/validate")
    assert page.evaluate("getComputedStyle(document.querySelector('main')).maxWidth") != "none"
    look(page, f"validate-{scheme}-{width}-empty")
    tab_to(page, name="manifest")
    page.keyboard.insert_text(LONG_LINE)
    tab_to(page, type="submit")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    seen = page.locator("main").inner_text()
    assert "It is not valid." in seen
    assert "Line 2, column 10" in seen
    assert page.locator("#manifest").input_value() == LONG_LINE
    look(page, f"validate-{scheme}-{width}-problems")
    tab_to(page, href="/awp/validate?manifest=own")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "The manifest of this site" in page.locator("main").inner_text()
    look(page, f"validate-{scheme}-{width}-own")
    assert [each for each in refused if "Content Security Policy" in each] == []


def test_it_works_without_javascript_and_no_script_of_a_text_runs(origin: str, chromium: Any) -> None:
    page = chromium.new_context(java_script_enabled=False).new_page()
    page.goto(f"{origin}/awp/validate")
    page.fill("#manifest", json.dumps(manifest(), indent=2))
    page.click("main button[type=submit]")
    assert "It is valid." in page.locator("main").inner_text()
    page = chromium.new_context().new_page()
    page.goto(f"{origin}/awp/validate")
    page.fill(
        "#manifest",
        '{"<img src=x onerror=document.title=1>": "</textarea><script>document.title=1</script>"}',
    )
    page.click("main button[type=submit]")
    assert page.title().startswith("Not valid")
    assert page.locator("main img").count() == 0
