import pytest
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest
from django.test import RequestFactory

from agentweb.http.target import Target, site_of, target_of
from agentweb.wire.errors import RequestError


def wsgi(path, query="", *, script="", **environ):
    """A request as a WSGI server makes it; ``path`` decoded, as PATH_INFO is."""
    base = RequestFactory().generic("GET", "/").environ
    wire = {"PATH_INFO": path, "SCRIPT_NAME": script, "QUERY_STRING": query}
    as_bytes = {name: text.encode().decode("latin-1") for name, text in wire.items()}
    return WSGIRequest({**base, **as_bytes, **environ})


def asgi(path, query=b"", raw_path=None, root_path=""):
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": query,
        "root_path": root_path,
        "headers": [],
    }
    if raw_path is not None:
        scope["raw_path"] = raw_path
    return ASGIRequest(scope, None)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (wsgi("/a b/é", "q=%20", RAW_URI="/a%20b/%C3%A9?q=%20"), Target("/a%20b/%C3%A9", "q=%20")),
        (wsgi("/a/b", RAW_URI="/a%2Fb"), Target("/a%2Fb", "")),
        (wsgi("/a", "x?y", RAW_URI="/a?x?y"), Target("/a", "x?y")),
        (wsgi("/a", "", RAW_URI="/a?"), Target("/a", "")),
        (wsgi("/a", "", REQUEST_URI="/a"), Target("/a", "")),
        (wsgi("/a", "q", REQUEST_URI="http://shop.example/a?q"), Target("/a", "q")),
        (wsgi("/a", "q", REQUEST_URI="HTTPS://shop.example:8443/a?q"), Target("/a", "q")),
        (wsgi("/", "q", RAW_URI="http://shop.example?q"), Target("/", "q")),
        (wsgi("/", "", RAW_URI="http://shop.example"), Target("/", "")),
        (wsgi("//a", "", RAW_URI="//a"), Target("//a", "")),
    ],
)
def test_the_raw_target_of_a_wsgi_server_is_taken_as_it_is(request_, expected):
    assert target_of(request_) == expected


@pytest.mark.parametrize(
    ("path", "rebuilt"),
    [
        ("/agent/echo", "/agent/echo"),
        ("/a b", "/a%20b"),
        ("/é", "/%C3%A9"),
        ("/a%b", "/a%25b"),
        ("/a?b#c", "/a%3Fb%23c"),
        ("/~-._!$&'()*+,;=:@", "/~-._!$&'()*+,;=:@"),
        ("", "/"),
    ],
)
def test_without_a_raw_target_the_path_is_encoded_as_rfc_3986_writes_it(path, rebuilt):
    assert target_of(wsgi(path, "q=%41")) == Target(rebuilt, "q=%41")


def test_a_prefix_belongs_to_the_path():
    assert target_of(wsgi("/a", script="/shop")).path == "/shop/a"
    assert target_of(wsgi("/a", script="/shop", RAW_URI="/shop/a")).path == "/shop/a"


def test_a_prefix_that_the_proxy_took_off_is_put_back():
    assert target_of(wsgi("/a b", script="/my shop", RAW_URI="/a%20b?q")) == Target("/my%20shop/a%20b", "q")


def test_a_forced_script_name_counts(settings):
    settings.FORCE_SCRIPT_NAME = "/shop"
    assert target_of(wsgi("/a", RAW_URI="/a")).path == "/shop/a"
    assert target_of(wsgi("/a")).path == "/shop/a"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (asgi("/a b", b"q=%20", b"/a%20b"), Target("/a%20b", "q=%20")),
        (asgi("/a/b", b"", b"/a%2Fb"), Target("/a%2Fb", "")),
        (asgi("/a b", b"q", b"/a%20b?q"), Target("/a%20b", "q")),
        (asgi("/a b", b"q"), Target("/a%20b", "q")),
        (asgi("/shop/a", b"", b"/shop/a", "/shop"), Target("/shop/a", "")),
        (asgi("/shop/a", b"", None, "/shop"), Target("/shop/a", "")),
    ],
)
def test_the_raw_path_of_an_asgi_server_is_taken_as_it_is(request_, expected):
    assert target_of(request_) == expected


def test_a_forced_script_name_counts_under_asgi_too(settings):
    settings.FORCE_SCRIPT_NAME = "/my shop"
    assert target_of(asgi("/a b", b"q", b"/a%20b")) == Target("/my%20shop/a%20b", "q")
    assert target_of(asgi("/my shop/a", b"", b"/my%20shop/a")).path == "/my%20shop/a"
    assert target_of(asgi("/my shop/a", b"", b"/my%20shop/a", "/my shop")).path == "/my%20shop/a"
    assert target_of(asgi("/a", b"", None)).path == "/my%20shop/a"


def test_a_root_path_that_the_proxy_took_off_is_put_back():
    # uvicorn puts root_path before ``path``, and hands raw_path over with it or, in older versions, without.
    assert target_of(asgi("/shop/a", b"", b"/a", "/shop")).path == "/shop/a"
    assert target_of(asgi("/shop/shop/a", b"", b"/shop/shop/a", "/shop")).path == "/shop/shop/a"


@pytest.mark.parametrize(
    ("origin", "site"),
    [
        ("https://shop.example", "shop.example"),
        ("https://Shop.Example:443", "shop.example"),
        ("http://shop.example:80", "shop.example"),
        ("http://shop.example:443", "shop.example:443"),
        ("http://127.0.0.1:8000", "127.0.0.1:8000"),
        ("http://[::1]:8000", "[::1]:8000"),
    ],
)
def test_a_site_is_its_authority_without_the_default_port(origin, site):
    assert site_of(origin) == site


def test_queries_are_read_strictly():
    from agentweb.http.queries import MAX_FIELDS, pairs_of

    assert pairs_of("") == []
    assert pairs_of("a=1&b=&a=2&c") == [("a", "1"), ("b", ""), ("a", "2"), ("c", "")]
    assert pairs_of("q=a+b%2B%26;c") == [("q", "a b+&;c")]
    assert pairs_of("é=ü".encode().decode("latin-1")) == [("é", "ü")]
    for query, code in [
        ("q=%FF", "invalid_unicode"),
        ("q=%00", "invalid_unicode"),
        ("%00=q", "invalid_unicode"),
        ("q=%ED%A0%80", "invalid_unicode"),
        ("q=\xff", "invalid_unicode"),
        ("&".join(["a=1"] * (MAX_FIELDS + 1)), "invalid_parameter"),
    ]:
        with pytest.raises(RequestError) as refused:
            pairs_of(query)
        assert (refused.value.code, refused.value.status) == (code, 400)
