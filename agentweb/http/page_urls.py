"""Where the site's pages are: from the paths that are declared to those of URLs, and back."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from agentweb.catalog import page_paths
from agentweb.http.mount import mounted_at

# RFC 3986 3.3: what a path may hold without encoding. "~" and the other unreserved ones are quote()'s own.
PATH_SAFE: Final = "/:@!$&'()*+,;="


def published_path(path: str, prefix: str) -> str:
    """The path of a page as it is published: percent-encoded, with the prefix, without a slash at its end."""
    return prefix + quote(page_paths.canonical(path), safe=PATH_SAFE)


def below_mount(path_info: str) -> str | None:
    """A request's path as the pages are declared, without where the site includes us; None when it is not below."""
    above = mounted_at()
    start = f"/{above}" if above else ""
    if not path_info.startswith(f"{start}/"):
        return None
    return path_info.removeprefix(start)
