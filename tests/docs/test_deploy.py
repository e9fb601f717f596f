"""The snippets of docs/how-to/deploy.md are right."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpRequest
from django.test import override_settings
from django.urls import resolve

from agentweb import action, conf
from agentweb.agent_actions.checks import check_action_paths, check_cors, check_well_known
from agentweb.catalog.registry import registry
from agentweb.http import cors
from agentweb.http.addresses import address_of
from tests.docs.pages import blocks

PAGE = "how-to/deploy.md"


def snippet(begin: str) -> dict[str, Any]:
    [text] = [block.text for block in blocks(PAGE, "python") if block.text.startswith(begin)]
    names: dict[str, Any] = {"DATABASES": {"default": {}}}
    exec(text, names)  # noqa: S102
    return names


def test_the_settings_are_settings() -> None:
    with override_settings(AGENTWEB=snippet("DEBUG")["AGENTWEB"]):
        assert conf.problems() == []


def test_the_expression_keeps_cors_headers_off() -> None:
    middleware = ["corsheaders.middleware.CorsMiddleware"]
    with registry.only(), override_settings(MIDDLEWARE=middleware):
        action("look", description="Look.")(lambda _, ctx: None)
        resolve("/agent/look")
        assert snippet("CORS_URLS_REGEX")["CORS_URLS_REGEX"] == cors.setting().partition('r"')[2].rstrip('"')
        assert [found.id for found in check_cors(None)] == ["agentweb.W042"]
        with override_settings(CORS_URLS_REGEX=snippet("CORS_URLS_REGEX")["CORS_URLS_REGEX"]):
            assert check_cors(None) == []


def test_the_named_proxies_are_believed() -> None:
    with override_settings(AGENTWEB=snippet("AGENTWEB")["AGENTWEB"]):
        assert conf.problems() == []
        request = HttpRequest()
        request.META = {
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_X_FORWARDED_FOR": "1.2.3.4, 198.51.100.7, 10.20.3.4",
        }
        assert address_of(request) == "198.51.100.7"


def test_the_urls_under_a_path_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.docs import urls_under_a_path

    monkeypatch.setattr(
        urls_under_a_path, "urlpatterns", snippet("import agentweb.urls")["urlpatterns"], raising=False
    )
    with override_settings(ROOT_URLCONF="tests.docs.urls_under_a_path"):
        assert check_well_known(None) == []
        assert [found.id for found in check_action_paths(None)] == []


def test_the_asgi_application_of_the_page_is_one() -> None:
    assert callable(snippet("from django.core.asgi")["application"])
