"""From the HTML of a page to its Markdown: for the time being only its text, without any marks."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Converted:
    title: str
    description: str
    markdown: str
    is_noindex: bool
    language: str


def convert(html: bytes | str, *, url: str, selector: str | None) -> Converted:
    text = html.decode(errors="replace") if isinstance(html, bytes) else html
    title = re.search(r"<title>(.*?)</title>", text, re.DOTALL)
    main = re.search(r"<main>(.*?)</main>", text, re.DOTALL)
    markdown = re.sub(r"<[^>]+>", "", main[1] if main else text).strip()
    return Converted(title[1] if title else "", "", markdown, 'content="noindex"' in text, "")
