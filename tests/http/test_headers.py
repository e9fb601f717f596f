import json

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from agentweb.agent_actions.checks import check_cors
from agentweb.http.headers import Document, answer_document
from tests.support.web import send

pytestmark = pytest.mark.usefixtures("shop")

MANIFEST = "/.well-known/agent-actions.json"
EXPOSED = {
    "Retry-After",
    "RateLimit",
    "RateLimit-Policy",
    "X-Request-Id",
    "ETag",
    "Idempotent-Replayed",
    "WWW-Authenticate",
    "Link",
    "X-AWP-Version",
}
CORS_MIDDLEWARE = "corsheaders.middleware.CorsMiddleware"
OWN_MIDDLEWARE = "agentweb.middleware.CorsMiddleware"


def assert_open_to_every_origin(answer):
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer.headers
    assert set(answer["Access-Control-Expose-Headers"].split(", ")) == EXPOSED


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", MANIFEST, 200),
        ("HEAD", MANIFEST, 200),
        ("OPTIONS", MANIFEST, 204),
        ("POST", MANIFEST, 405),
        ("GET", "/agent/search_products?query=tea", 200),
        ("GET", "/agent/search_products", 422),
        ("GET", "/agent/nope", 404),
        ("GET", "/agent-actions/nope", 404),
        ("POST", "/agent/add_to_cart", 401),
        ("POST", "/agent/crash", 500),
    ],
)
def test_every_answer_is_open_to_every_origin_without_credentials(method, path, status):
    answer = send(method, path, Origin="https://elsewhere.example")
    assert answer.status_code == status
    assert_open_to_every_origin(answer)


@pytest.mark.parametrize(
    "path", [MANIFEST, "/agent/add_to_cart", "/agent/nope", "/agent/staff_report", "/orders/1"]
)
def test_a_preflight_is_answered_alike_on_every_path(path):
    answer = send(
        "OPTIONS",
        path,
        Origin="https://elsewhere.example",
        Access_Control_Request_Method="POST",
        Access_Control_Request_Headers="agent-grant,signature",
    )
    assert (answer.status_code, answer.content) == (204, b"")
    assert_open_to_every_origin(answer)
    assert answer["Access-Control-Allow-Methods"] == "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
    assert set(answer["Access-Control-Allow-Headers"].split(", ")) == {
        "Authorization",
        "Content-Type",
        "Last-Event-ID",
        "Idempotency-Key",
        "Signature",
        "Signature-Input",
        "Content-Digest",
        "Agent-Grant",
        "Agent-Key",
        "If-None-Match",
    }
    assert answer["Access-Control-Max-Age"] == "86400"
    assert "Content-Type" not in answer.headers


def test_options_says_what_a_path_answers_and_nothing_of_a_hidden_one():
    assert send("OPTIONS", "/orders/1")["Allow"] == "GET, DELETE, PATCH, HEAD, OPTIONS"
    assert send("OPTIONS", MANIFEST)["Allow"] == "GET, HEAD, OPTIONS"
    hidden, unknown = send("OPTIONS", "/agent/staff_report"), send("OPTIONS", "/agent/staff_repork")
    assert hidden.status_code == unknown.status_code == 404
    assert "Allow" not in hidden.headers


@pytest.fixture
def cors_policy(settings):
    """A site that uses django-cors-headers for its own pages, with credentials."""
    settings.MIDDLEWARE = [CORS_MIDDLEWARE, *settings.MIDDLEWARE]
    settings.CORS_ALLOWED_ORIGINS = ["https://friend.example"]
    settings.CORS_ALLOW_CREDENTIALS = True
    return settings


@pytest.mark.parametrize("path", [MANIFEST, "/agent/search_products?query=tea", "/agent/nope"])
def test_a_site_s_own_cors_policy_does_not_reach_our_answers(cors_policy, path):
    assert_open_to_every_origin(send("GET", path, Origin="https://friend.example"))
    assert_open_to_every_origin(send("GET", path, Origin="https://elsewhere.example"))


def test_preflights_are_ours_where_the_site_s_policy_leaves_our_paths_out(cors_policy):
    cors_policy.CORS_URLS_REGEX = r"^(?!/\.well-known/|/agent/|/agent-actions/)"
    answer = send(
        "OPTIONS", "/agent/mirror", Origin="https://friend.example", Access_Control_Request_Method="POST"
    )
    assert answer.status_code == 204
    assert_open_to_every_origin(answer)


@pytest.mark.parametrize(
    ("path", "method"), [(MANIFEST, "GET"), ("/agent/mirror", "POST"), ("/orders/1", "PATCH")]
)
def test_our_middleware_in_place_of_django_cors_headers_leaves_our_paths_to_us(cors_policy, path, method):
    cors_policy.MIDDLEWARE = [OWN_MIDDLEWARE, *cors_policy.MIDDLEWARE[1:]]
    assert check_cors(None) == []
    origin = {"Origin": "https://friend.example"}
    answer = send("OPTIONS", path, **origin, Access_Control_Request_Method=method)
    assert answer.status_code == 204
    assert_open_to_every_origin(answer)
    assert_open_to_every_origin(send("GET", path, **origin))


def test_the_site_s_own_pages_keep_its_policy_under_our_middleware(cors_policy):
    cors_policy.MIDDLEWARE = [OWN_MIDDLEWARE, *cors_policy.MIDDLEWARE[1:]]
    answer = send(
        "OPTIONS", "/pages/own", Origin="https://friend.example", Access_Control_Request_Method="GET"
    )
    assert answer["Access-Control-Allow-Origin"] == "https://friend.example"
    assert answer["Access-Control-Allow-Credentials"] == "true"
    assert "Access-Control-Allow-Origin" not in send("GET", "/pages/own", Origin="https://elsewhere.example")


def test_our_middleware_has_the_last_word_of_a_site_s_expression(cors_policy):
    cors_policy.MIDDLEWARE = [OWN_MIDDLEWARE, *cors_policy.MIDDLEWARE[1:]]
    cors_policy.CORS_URLS_REGEX = r"^/api/"
    answer = send("GET", "/pages/own", Origin="https://friend.example")
    assert "Access-Control-Allow-Origin" not in answer


def test_only_public_documents_may_be_cached():
    assert send("GET", MANIFEST)["Cache-Control"] == "public, max-age=60"
    for answer in (
        send("POST", MANIFEST),
        send("OPTIONS", MANIFEST),
        send("GET", "/agent/search_products?query=tea"),
        send("GET", "/agent/nope"),
        send("GET", "/agent-actions/receipts"),
        send("POST", "/agent/crash"),
    ):
        assert answer["Cache-Control"] == "no-store"


def test_the_time_to_cache_is_a_setting(settings):
    settings.AGENTWEB = {**settings.AGENTWEB, "MANIFEST_MAX_AGE": 5}
    assert send("GET", MANIFEST)["Cache-Control"] == "public, max-age=5"


@pytest.mark.parametrize(
    ("condition", "has_it"),
    [
        ("{etag}", True),
        ("W/{etag}", True),
        ('"x", {etag}, "y"', True),
        ('W/"x",W/{etag}', True),
        ("*", True),
        (" * ", True),
        ('"x"', False),
        ("{bare}", False),
        ("", False),
        ("nonsense, \u00e9", False),
        ("," * 3_000, False),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_who_has_the_document_gets_304_with_the_same_headers(method, condition, has_it):
    first = send(method, MANIFEST)
    etag = first["ETag"]
    answer = send(method, MANIFEST, If_None_Match=condition.format(etag=etag, bare=etag.strip('"')))
    assert answer.status_code == (304 if has_it else 200)
    for name in ("ETag", "Cache-Control", "Vary", "Access-Control-Allow-Origin"):
        assert answer[name] == first[name]
    if has_it:
        assert answer.content == b""
        assert answer["X-Request-Id"] != first["X-Request-Id"]


def test_the_entity_tag_is_strong_and_of_the_content():
    one, same, other = Document(b"a"), Document(b"a"), Document(b"b")
    assert one.etag == same.etag != other.etag
    assert one.etag.startswith('"')
    assert one.etag.endswith('"')


def test_conditional_and_compressing_middleware_of_the_site_agree_with_us(settings):
    settings.MIDDLEWARE = [
        "django.middleware.gzip.GZipMiddleware",
        "django.middleware.http.ConditionalGetMiddleware",
        *settings.MIDDLEWARE,
    ]
    first = send("GET", MANIFEST, Accept_Encoding="gzip")
    answer = send("GET", MANIFEST, Accept_Encoding="gzip", If_None_Match=first["ETag"])
    assert answer.status_code == 304
    assert_open_to_every_origin(answer)


def test_a_private_document_is_not_marked_as_public():
    answer = answer_document(RequestFactory().get("/"), Document(json.dumps({}).encode()), is_public=False)
    assert isinstance(answer, HttpResponse)
    assert "Cache-Control" not in answer.headers
