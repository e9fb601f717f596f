"""``/awp/validate``: what a person sees of a text, what it costs, and what nobody can do with it."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client, RequestFactory

from agentweb.access import limits
from agentweb.awp.compliance import page
from tests.awp.compliance.sites import manifest

pytestmark = pytest.mark.django_db

PATH = "/awp/validate"
BROKEN = '{\r\n "version": 1.0,\r\n "name": "<script>alert(1)</script>\u202e"\r\n}'


@pytest.fixture(autouse=True)
def _origin(settings: Any) -> None:
    settings.AGENTWEB = {"ORIGIN": "https://testserver"}


def text_of(response: Any) -> str:
    return unescape(response.content.decode())


def validate(client: Client, text: str, **extra: Any) -> Any:
    return client.post(PATH, {"manifest": text}, **extra)


def test_the_page_has_a_form_and_says_what_it_does(client: Client) -> None:
    response = client.get(PATH)
    assert response.status_code == 200
    assert '<textarea id="manifest"' in text_of(response)
    assert "csrfmiddlewaretoken" in text_of(response)
    assert "Nothing that you paste is stored" in text_of(response)
    assert client.get(f"{PATH}/").status_code == 200
    assert client.head(PATH).content == b""


@pytest.mark.requirement("AWP-2.18")
def test_problems_are_listed_with_line_column_excerpt_and_fix(client: Client) -> None:
    response = validate(client, BROKEN)
    assert response.status_code == 200
    told = text_of(response)
    assert "It is not valid." in told
    assert "Line 2, column 13" in told
    assert "'version' must be '1.0'." in told
    assert '"version": 1.0,\n<span aria-hidden="true">            ^' in told
    assert 'Write it like "version": "1.0".' in told


@pytest.mark.parametrize("length", ["²", "x", "-1", "9" * 5_000])
def test_a_length_that_is_none_is_no_crash(length: str) -> None:
    request = RequestFactory().get(PATH)
    request.META["CONTENT_LENGTH"] = length
    response = page.ValidateView.as_view()(request)
    assert response.status_code in {200, 413}


def test_a_valid_text_is_told_as_that(client: Client) -> None:
    told = text_of(validate(client, json.dumps({**manifest(), "updated_at": "2001-01-01T00:00:00Z"})))
    assert "It is valid." in told
    assert "<title>Valid - " in told
    assert "0 errors, 0 warnings, 1 note." in " ".join(told.split())


def test_what_is_pasted_is_only_ever_text(client: Client) -> None:
    raw = validate(client, BROKEN + '"><img src=x onerror=alert(1)></textarea>').content.decode()
    assert "<script" not in raw
    assert "<img" not in raw
    assert raw.count("</textarea>") == 1


def test_this_site_s_own_manifest_is_what_everybody_gets(client: Client) -> None:
    published = client.get("/.well-known/agentic-web-protocol.json").content.decode()
    told = text_of(client.get(f"{PATH}?manifest=own"))
    assert "The manifest of this site" in told
    assert "It is valid." in told
    assert published in told


def test_an_origin_that_is_not_set_is_told_without_a_crash(client: Client, settings: Any) -> None:
    settings.AGENTWEB = {}
    response = client.get(f"{PATH}?manifest=own")
    assert response.status_code == 500
    assert "not set up for agents" in text_of(response)


@pytest.mark.parametrize("text", ["", "  \n"], ids=["nothing", "spaces"])
def test_an_empty_field_is_told(client: Client, text: str) -> None:
    response = validate(client, text)
    assert response.status_code == 422
    assert "The field is empty" in text_of(response)


def test_a_long_text_is_not_looked_at(client: Client) -> None:
    response = validate(client, "x" * (page.MAX_CHARACTERS + 1))
    assert response.status_code == 413
    assert "too long: at most 65536 characters" in text_of(response).replace(",", "")
    assert "xxxx" not in text_of(response)


def test_the_longest_text_that_is_looked_at_costs_little(client: Client) -> None:
    wide = "[" + "[]," * (page.MAX_CHARACTERS // 3 - 2) + "[]]"
    assert "must be an object" in text_of(validate(client, wide))
    many = "{" + ",".join(f'"a{number}":NaN' for number in range(4_000)) + "}"
    assert len(validate(client, many).content) < 500_000


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"x" * (page.MAX_BODY + 1), "application/x-www-form-urlencoded", 413),
        (b"--x\r\nbroken", "multipart/form-data; boundary=" + "y" * 300, 400),
        (b"{}", "application/json", 403),
        (b"manifest=%ff%fe", "application/x-www-form-urlencoded", 403),
    ],
    ids=["large", "no-form", "json", "bytes"],
)
def test_what_is_no_form_is_never_a_crash(content: bytes, kind: str, status: int) -> None:
    client = Client(enforce_csrf_checks=True)
    response = client.post(PATH, content, content_type=kind)
    assert response.status_code == status
    assert response["X-AWP-Version"] == "1.0"


@pytest.mark.parametrize("method", ["DELETE", "PUT", "PATCH", "TRACE"])
@pytest.mark.parametrize("protected", [True, False])
def test_another_method_is_405_whatever_protects_the_site_s_forms(
    settings: Any, method: str, protected: bool
) -> None:
    csrf = "django.middleware.csrf.CsrfViewMiddleware"
    others = [each for each in settings.MIDDLEWARE if each != csrf]
    settings.MIDDLEWARE = [csrf, *others] if protected else others
    response = Client(enforce_csrf_checks=True).generic(method, "/awp/validate")
    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD, POST, OPTIONS")
    assert (response["X-AWP-Version"], response["Access-Control-Allow-Origin"]) == ("1.0", "*")


def test_a_form_of_another_site_shows_nothing_here_where_a_middleware_protects_forms_too(
    settings: Any,
) -> None:
    csrf = "django.middleware.csrf.CsrfViewMiddleware"
    settings.MIDDLEWARE = [csrf, *(each for each in settings.MIDDLEWARE if each != csrf)]
    response = Client(enforce_csrf_checks=True).post("/awp/validate", {"manifest": "{}"})
    assert response.status_code == 403


def test_a_form_of_another_site_shows_nothing_here() -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.post(PATH, {"manifest": "spoofed"}).status_code == 403
    token = client.get(PATH).cookies["csrftoken"].value
    sent = client.post(PATH, {"manifest": "[]", "csrfmiddlewaretoken": token})
    assert "must be an object" in text_of(sent)


@pytest.mark.parametrize(
    ("method", "status"),
    [("get", 200), ("head", 200), ("post", 422), ("options", 204), ("put", 405), ("delete", 405)],
)
@pytest.mark.requirement("AWP-6.5")
def test_every_answer_has_the_headers_of_awp_and_of_a_page_for_people(
    client: Client, method: str, status: int
) -> None:
    response = getattr(client, method)(PATH)
    assert response.status_code == status
    assert response["X-AWP-Version"] == "1.0"
    assert response["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in response
    assert response["Cache-Control"] == "no-store"
    assert response["X-Frame-Options"] == "DENY"
    policy = response["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "frame-ancestors 'none'" in policy


def test_a_preflight_is_answered_as_everywhere(client: Client) -> None:
    response = client.options(
        PATH, headers={"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    )
    assert response.status_code == 204
    assert "POST" in response["Access-Control-Allow-Methods"]


def test_style_sheets_may_come_from_where_the_site_has_them(client: Client, settings: Any) -> None:
    settings.STATIC_URL = "https://static.example/files/"
    assert (
        "style-src 'self' 'unsafe-inline' https://static.example;"
        in client.get(PATH)["Content-Security-Policy"]
    )


def test_one_address_cannot_have_it_validate_without_end(client: Client, settings: Any) -> None:
    settings.AGENTWEB = {"ORIGIN": "https://testserver", "ANONYMOUS_RATE": (0.01, 2)}
    assert [validate(client, "[]").status_code for _ in range(3)] == [200, 200, 429]
    response = client.get(f"{PATH}?manifest=own")
    assert response.status_code == 429
    assert int(response["Retry-After"]) > 60
    assert "Too many requests" in text_of(response)
    assert client.get(PATH).status_code == 200
    assert validate(client, "[]", REMOTE_ADDR="192.0.2.7").status_code == 200


def test_nothing_that_is_pasted_is_stored(client: Client, django_assert_max_num_queries: Any) -> None:
    limits.admit_anonymous("127.0.0.1")
    with django_assert_max_num_queries(3) as seen:
        validate(client, json.dumps({"name": "a secret name"}))
    assert not any("secret" in str(query["sql"]) for query in seen.captured_queries)
    assert not Session.objects.exists()
    assert set(client.cookies) <= {"csrftoken"}


def test_nobody_has_to_log_in(client: Client, settings: Any) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    assert client.get(PATH).status_code == 200
    assert validate(client, "[]").status_code == 200
