"""Where manifests are, and which page a path means: from the site's own paths to published URLs and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote

from agentweb.catalog import page_paths
from agentweb.catalog.pages import Page, page_at
from agentweb.http.headers import JSON
from agentweb.http.mount import mount_prefix, path_of
from agentweb.http.page_urls import PATH_SAFE
from agentweb.wire import toon

SITE_MAP: Final = "/sitemap"


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


def manifest_path(path: str, form: Form, prefix: str) -> str:
    """The path of the manifest of the page at ``path``, a decoded path of the site below ``prefix``."""
    return prefix + quote(page_paths.manifest_stem(path), safe=PATH_SAFE) + form.suffix


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
