"""A person's browser, as far as the story needs one: cookies, and forms that are filled in and sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from types import MappingProxyType
from typing import Final
from urllib.parse import urljoin

import httpx

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass
class Form:
    """``fields`` are what would be sent as the form stands; ``buttons`` what stands on each, with its own field."""

    action: str
    method: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: dict[str, tuple[str, str] | None] = field(default_factory=dict)


class Browser:
    """One person's, at one site. Every page that it opens must be there, else LookupError."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.http = httpx.Client(base_url=origin, trust_env=False, timeout=30, follow_redirects=True)
        self.url, self.page = origin, ""

    def open(self, url: str) -> str:
        """The HTML of a page; relative addresses are the site's."""
        return self._shown(self.http.get(urljoin(self.url, url)))

    def press(
        self,
        button: str,
        fill: Mapping[str, str] = _NOTHING,
        *,
        of: str | None = None,
        untick: Collection[str] = (),
    ) -> str:
        """Press the first button on the page whose text begins so, after filling in its form; the page that follows.

        ``of`` is the value that the button sends, where several have one text; ``untick`` are values of boxes that
        are ticked and shall not be.
        """
        found = [
            (form, pressed)
            for form in forms_of(self.page)
            for text, pressed in form.buttons.items()
            if text.startswith(button) and of in {None, pressed and pressed[1]}
        ]
        if not found:
            raise LookupError(f"{self.url} has no button {button!r}")
        form, pressed = found[0]
        kept = [(name, value) for name, value in form.fields if name not in fill and value not in untick]
        sent = [*kept, *fill.items(), *([pressed] if pressed else [])]
        data: dict[str, list[str]] = {}
        for name, value in sent:
            data.setdefault(name, []).append(value)
        where = urljoin(self.url, form.action)
        if form.method == "get":
            return self._shown(self.http.get(where, params=data))
        return self._shown(self.http.post(where, data=data))

    def log_in(self, name: str, password: str) -> str:
        self.open("/login")
        return self.press("Log in", {"username": name, "password": password})

    def _shown(self, answer: httpx.Response) -> str:
        if answer.status_code != httpx.codes.OK:
            raise LookupError(f"{answer.status_code} for {answer.request.method} {answer.url}")
        self.url, self.page = str(answer.url), answer.text
        return self.page


def forms_of(page: str) -> list[Form]:
    """All forms of a page, in order."""
    reader = _Forms()
    reader.feed(page)
    return reader.forms


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._form: Form | None = None
        self._button: tuple[dict[str, str | None], list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._form = Form(given.get("action") or "", (given.get("method") or "get").lower())
            self.forms.append(self._form)
        elif tag == "button":
            self._button = (given, [])
        elif tag == "input" and self._form is not None and given.get("name"):
            kind = given.get("type") or "text"
            if kind not in {"checkbox", "radio"} or "checked" in given:
                self._form.fields.append((given["name"] or "", given.get("value") or ""))

    def handle_data(self, data: str) -> None:
        if self._button is not None:
            self._button[1].append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "button" and self._button is not None:
            given, words = self._button
            self._button = None
            if self._form is not None:
                name = given.get("name")
                text = " ".join(unescape("".join(words)).split())
                self._form.buttons[text] = (name, given.get("value") or "") if name else None
