"""Where manifests are, and which page a path means: from the site's own paths to published URLs and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote

from agentweb.catalog import page_paths
from agentweb.catalog.pages import Page, page_at
from agentweb.http.headers import JSON
from agentweb.http.mount import mount_prefix, mounted_at, path_of
from agentweb.wire import toon

SITE_MAP: Final = "/sitemap"
# RFC 3986 3.3: what a path may hold without encoding. "~" and the other unreserved ones are quote()'s own.
_SAFE: Final = "/:@!$&'()*+,;="


@dataclass(frozen=True, slots=True)
class Form:
    """A form in which a manifest is served. ``site_map`` is the path of the site map in this form."""

    name: str
    suffix: str
    media_type: str
    content_type: str
    site_map: str


FORMS: Final = (
    Form("json", ".json", "application/json", JSON, f"{SITE_MAP}.agents.json"),
    Form("toon", ".toon", toon.MEDIA_TYPE, toon.CONTENT_TYPE, f"{SITE_MAP}.toon"),
)
JSON_FORM, TOON_FORM = FORMS


@dataclass(frozen=True, slots=True)
class Links:
    """The absolute URLs that manifests name. ``sessions`` and ``connect`` are None where nothing answers there."""

    prefix: str
    site_map: str
    invoke: str
    sessions: str | None
    connect: str | None


def links(origin: str, prefix: str) -> Links:
    """``origin`` is ``https://shop.example``; ``prefix`` what stands before our paths when we are mounted under one."""

    def absolute(name: str) -> str | None:
        path = path_of(name)
        return None if path is None else origin + path

    return Links(
        prefix=prefix,
        site_map=origin + prefix + TOON_FORM.site_map,
        invoke=absolute("invoke") or "",
        sessions=absolute("sessions"),
        connect=absolute("connect"),
    )


def published_path(path: str, prefix: str) -> str:
    """The path of a page as it is published: percent-encoded, with the prefix, without a slash at its end."""
    return prefix + quote(page_paths.canonical(path), safe=_SAFE)


def manifest_path(path: str, form: Form, prefix: str) -> str:
    """The path of the manifest of the page at ``path``, a decoded path of the site below ``prefix``."""
    return prefix + quote(page_paths.manifest_stem(path), safe=_SAFE) + form.suffix


def below_mount(path_info: str) -> str | None:
    """A request's path as the pages are declared, without where the site includes us; None when it is not below."""
    above = mounted_at()
    start = f"/{above}" if above else ""
    if not path_info.startswith(f"{start}/"):
        return None
    return path_info.removeprefix(start)


def is_path(text: str) -> bool:
    """Whether a text may be the path of a page as it is published: no NUL in it, percent-encoded or not."""
    return text.startswith("/") and "\0" not in text and "\0" not in unquote(text)


def named_page(path: str) -> tuple[Page, dict[str, Any], str] | None:
    """The page that an agent names by the ``page`` of its manifest, the parameters of the path, and the path below
    the prefix, decoded.

    Whoever may see the page is another question.
    """
    prefix = mount_prefix()
    if not path.startswith(f"{prefix}/") or not is_path(path):
        return None
    below = unquote(path.removeprefix(prefix))
    found = page_at(below)
    return None if found is None else (*found, below)
