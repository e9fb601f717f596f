import json

import pytest
from django.test import RequestFactory

from tests.support.web import send

pytestmark = pytest.mark.usefixtures("shop")


def code_of(answer):
    return answer.status_code, json.loads(answer.content)["error"]["code"]


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        'Application/JSON;charset="UTF-8"',
        "application/json ; charset=utf8",
    ],
)
def test_json_in_utf_8_is_read(content_type):
    assert (
        send("POST", "/agent/mirror", "\u00e9".join('""').encode(), Content_Type=content_type).status_code
        == 200
    )


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "application/json5",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-7",
        "application/json; charset=latin-1",
        "application/json; charset=utf-8; charset=utf-7",
        "application/json, text/plain",
        "application/json; charset=\u00fc",
    ],
)
def test_any_other_media_type_or_charset_is_415(content_type):
    answer = send("POST", "/agent/mirror", b"{}", Content_Type=content_type)
    assert code_of(answer) == (415, "unsupported_media_type")
    assert json.loads(answer.content)["error"]["accepted"] == ["application/json"]


@pytest.mark.parametrize(
    ("encoding", "status"), [("identity", 200), ("gzip", 415), ("br", 415), ("gzip, br", 415)]
)
def test_a_content_encoding_other_than_identity_is_415(encoding, status):
    assert send("POST", "/agent/mirror", b"{}", Content_Encoding=encoding).status_code == status


def test_a_body_over_the_limit_is_413_and_is_not_read(settings):
    settings.AGENTWEB = {**settings.AGENTWEB, "MAX_BODY_BYTES": 1_024}
    fitting = b'"' + b"a" * 1_022 + b'"'
    assert send("POST", "/agent/mirror", fitting).status_code == 200

    class Unread:
        def read(self, *size):
            raise AssertionError("the body was read")

    request = RequestFactory().generic("POST", "/agent/mirror", b" " * 1_025, content_type="application/json")
    answer = _view(request, Unread())
    assert code_of(answer) == (413, "payload_too_large")
    assert json.loads(answer.content)["error"]["limit"] == 1_024


def test_the_site_s_own_limit_counts_when_it_is_smaller(settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    answer = send("POST", "/agent/mirror", b'"' + b"a" * 99 + b'"')
    assert code_of(answer) == (413, "payload_too_large")
    assert json.loads(answer.content)["error"]["limit"] == 100
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None
    assert send("POST", "/agent/mirror", b'"' + b"a" * 99 + b'"').status_code == 200


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_chunked_body_is_411(method):
    path = "/agent/mirror" if method == "POST" else "/agent/search_products?query=tea"
    assert code_of(send(method, path, Transfer_Encoding="chunked")) == (411, "length_required")


@pytest.mark.parametrize("length", ["abc", "-1", "1e3", "\u0663", "1,1", "9" * 30])
def test_a_length_that_is_none_is_411(length):
    request = RequestFactory().generic("POST", "/agent/mirror", b"{}", content_type="application/json")
    request.META["CONTENT_LENGTH"] = length
    assert _view(request).status_code in {411, 413}


def test_a_body_that_ends_early_is_told_apart_from_bad_json():
    request = RequestFactory().generic("POST", "/agent/mirror", b"{}", content_type="application/json")
    request.META["CONTENT_LENGTH"] = "10"
    answer = _view(request)
    assert code_of(answer) == (400, "malformed_json")
    assert json.loads(answer.content)["error"]["field"] == "body"


def test_no_body_stands_for_an_empty_object():
    assert json.loads(send("POST", "/agent/mirror").content) == {"input": {}}


def _view(request, stream=None):
    from django.urls import resolve

    if stream is not None:
        request._stream = stream
    match = resolve(request.path_info)
    return match.func(request, **match.kwargs)
