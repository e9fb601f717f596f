"""Request bodies: what their headers announce is judged first, then the bytes are read once.

We read raw bytes and no parser of Django or DRF touches them. A chunked body is refused, because WSGI servers hand
over nothing of it.
"""

from __future__ import annotations

import re
from typing import Final

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, UnreadablePostError

from agentweb import conf
from agentweb.wire.errors import Code, RequestError

MEDIA_TYPE: Final = "application/json"
_JSON: Final = re.compile(r'application/json *(; *charset=("utf-?8"|utf-?8) *)?;?', re.IGNORECASE)
_LENGTH: Final = re.compile(r"[0-9]{1,18}")


def limit() -> int:
    """Largest body in bytes: MAX_BODY_BYTES, or the site's DATA_UPLOAD_MAX_MEMORY_SIZE when that is smaller."""
    ours: int = conf.get("MAX_BODY_BYTES")
    django: int | None = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return ours if django is None else min(ours, django)


def announced_length(request: HttpRequest, largest: int | None = None, *, is_json: bool = True) -> int:
    """Bytes that Content-Length announces, 0 without a body; refuses what cannot be read.

    ``largest`` is the most that is read, ``limit()`` when not given; ``is_json`` says that a body is JSON, or nothing.

    Raises payload_too_large (413, ``limit``), length_required (411), unsupported_media_type (415, ``accepted``).
    """
    text = request.META.get("CONTENT_LENGTH") or ""
    if request.META.get("HTTP_TRANSFER_ENCODING"):
        raise _length_required()
    if not text:
        return 0
    if not _LENGTH.fullmatch(text):
        raise _length_required()
    length = int(text)
    most = limit() if largest is None else largest
    if length > most:
        raise too_large(most)
    if length and is_json:
        _check_media_type(request)
    return length


def read(request: HttpRequest, length: int) -> bytes:
    """The body's bytes. Raises malformed_json (400) when fewer arrive than were announced."""
    if length == 0:
        # HTTP/2 needs no Content-Length; ASGI servers then hand over a body that no header announced.
        if hasattr(request, "scope") and not hasattr(request, "_body"):
            if request.read(1):
                raise _length_required()
            # So that a handler may still ask its request for the body.
            request._body = b""
        return b""
    try:
        body = request.body
    except RequestDataTooBig:
        raise too_large(limit()) from None
    except UnreadablePostError as error:
        raise _cut_short() from error
    if len(body) != length:
        raise _cut_short()
    return body


def too_large(largest: int) -> RequestError:
    return RequestError(
        Code.PAYLOAD_TOO_LARGE, f"Send a body of at most {largest} bytes.", field="body", limit=largest
    )


def _check_media_type(request: HttpRequest) -> None:
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if encoding not in {"", "identity"}:
        raise _unsupported("Send the body without a Content-Encoding.")
    if not _JSON.fullmatch(request.META.get("CONTENT_TYPE") or ""):
        raise _unsupported(f"Send the body as JSON in UTF-8, with Content-Type: {MEDIA_TYPE}.")


def _unsupported(text: str) -> RequestError:
    return RequestError(Code.UNSUPPORTED_MEDIA_TYPE, text, accepted=[MEDIA_TYPE])


def _length_required() -> RequestError:
    return RequestError(
        Code.LENGTH_REQUIRED,
        "Send the body in one piece with Content-Length, not chunked.",
        field="Content-Length",
    )


def _cut_short() -> RequestError:
    return RequestError(
        Code.MALFORMED_JSON, "The body ended before its Content-Length; send it again.", field="body"
    )
