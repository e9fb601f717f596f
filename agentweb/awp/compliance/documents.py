"""The AWP documents of a site as an agent finds them: from the well-known manifest to the last part of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from agentweb.awp import protocol
from agentweb.awp.compliance.manifest import Validation, validate
from agentweb.awp.compliance.site import Reply, Site
from agentweb.wire import strict_json
from agentweb.wire.errors import RequestError

WELL_KNOWN: Final = f"/{protocol.WELL_KNOWN}"
OPENAPI: Final = "openapi.json"

_MANIFEST: Final = f"/{protocol.MANIFEST}"
_MAX_NODES: Final = 200_000
_MAX_LISTS: Final = 200
_MAX_PARTS: Final = 500
_IS_DOCUMENT: Final = re.compile(r"\.(?:md|json)(?:\?|\Z)")
_NEXT: Final = re.compile(r'<([^<>]{1,2000})>[^<>,]{0,200}?;\s*rel="?next"?', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ContentPage:
    """A page's first part, and how many it has where the list says so."""

    address: str
    parts: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    reply: Reply
    number: int


class Documents:
    """Each is asked for when it is first looked at, in ``language`` if it is given. Raises NotReachedError at the
    first one."""

    def __init__(self, site: Site, language: str = "") -> None:
        self.site = site
        self.language = language

    @cached_property
    def well_known(self) -> Reply:
        return self.read(WELL_KNOWN) if self.language else self.site.require(WELL_KNOWN)

    def read(self, address: str) -> Reply:
        return self.site.get(address, self.language)

    @cached_property
    def validation(self) -> Validation | None:
        """Of the discovery manifest; None when nothing is served there."""
        return validate(self.well_known.body) if self.well_known.status == 200 else None

    @property
    def manifest(self) -> dict[str, Any]:
        """The discovery manifest, empty when there is none that can be read."""
        found = None if self.validation is None else self.validation.manifest
        return {} if found is None else found

    def endpoint(self, name: str) -> str | None:
        """The address that the manifest names, None when it names none of this site."""
        endpoints = self.manifest.get("endpoints")
        return self.site.local(endpoints.get(name)) if isinstance(endpoints, dict) else None

    @cached_property
    def prefix(self) -> str:
        """What stands before /awp/ on this site, as its manifest says, else as is known from elsewhere."""
        manifest = self.endpoint("manifest")
        if manifest is not None and manifest.endswith(_MANIFEST):
            return manifest.removesuffix(_MANIFEST)
        return self.site.prefix

    def address(self, path: str) -> str:
        """Of one of ``protocol``'s paths."""
        return f"{self.prefix}/{path}"

    @property
    def full_address(self) -> str:
        return self.endpoint("manifest") or self.address(protocol.MANIFEST)

    @cached_property
    def llms_address(self) -> str:
        return self.site.local(self.manifest.get("llms_txt")) or f"/{protocol.LLMS}"

    def get(self, path: str) -> Reply:
        """The reply at one of ``protocol``'s paths."""
        return self.read(self.address(path))

    @cached_property
    def full(self) -> Any:
        """The full manifest's value, None when there is none."""
        return json_of(self.read(self.full_address), self.site.bounds.max_bytes)

    @cached_property
    def functions(self) -> list[Any]:
        """The entries of the function schemas."""
        value = json_of(self.read(self.functions_address), self.site.bounds.max_bytes)
        found = value.get("functions") if isinstance(value, dict) else None
        return found if isinstance(found, list) else []

    @property
    def functions_address(self) -> str:
        return self.endpoint("api") or self.address(protocol.FUNCTIONS)

    @cached_property
    def operations(self) -> list[tuple[str, str]]:
        """(name, description) of every operation of /openapi.json."""
        value = json_of(self.get(OPENAPI), self.site.bounds.max_bytes)
        paths = value.get("paths") if isinstance(value, dict) else None
        return [
            (f"{method.upper()} {path}", operation["description"])
            for path, item in (paths.items() if isinstance(paths, dict) else ())
            for method, operation in (item.items() if isinstance(item, dict) else ())
            if isinstance(operation, dict) and isinstance(operation.get("description"), str)
        ]

    @cached_property
    def pages(self) -> list[ContentPage]:
        """Every content page that the full manifest or the structure lists, in their order, each once."""
        found: dict[str, ContentPage] = {}
        # A list of ours that became too long names others, one for each section.
        pending = [self.full_address, self.address(protocol.STRUCTURE)]
        read: set[str] = set()
        inside = self.address(f"{protocol.ROOT}/")
        while pending and len(read) < _MAX_LISTS:
            address = pending.pop(0)
            if address in read:
                continue
            read.add(address)
            value = json_of(self.read(address), self.site.bounds.max_bytes)
            for url, parts in _listed(value):
                listed = self.site.local(url)
                if listed is None:
                    continue
                path = listed.partition("?")[0]
                if path.endswith(".md") and path not in self._own_texts:
                    found.setdefault(listed, ContentPage(listed, parts))
                elif path.endswith(".json") and path.startswith(inside):
                    pending.append(listed)
        return list(found.values())

    @cached_property
    def sample(self) -> list[ContentPage]:
        """The pages that are read: all, or as many as the bounds allow, evenly from the whole list."""
        most = self.site.bounds.pages
        if most is None or len(self.pages) <= most:
            return self.pages
        return [self.pages[at * len(self.pages) // most] for at in range(most)]

    def parts_at(self, first: str) -> Iterator[Part]:
        """The parts of a text along their links ``rel="next"``; the answers are not kept."""
        seen: set[str] = set()
        address: str | None = first
        while address is not None and address not in seen and len(seen) < _MAX_PARTS:
            seen.add(address)
            reply = self.site.read_once(address, self.language)
            yield Part(reply, len(seen))
            found = _NEXT.search(reply.header("link") or "") if reply.status == 200 else None
            path = address.partition("?")[0]
            target = None if found is None else found[1]
            if target is not None and target.startswith("?"):
                target = path + target
            address = self.site.local(target)

    @property
    def _own_texts(self) -> set[str]:
        return {self.address(protocol.SUMMARY), self.address(protocol.INSTRUCTIONS)}


def json_of(reply: Reply, max_bytes: int) -> Any:
    """The value of a JSON answer; None when there is none, or it cannot be read."""
    if reply.status != 200:
        return None
    try:
        return strict_json.loads(reply.body, max_bytes=max_bytes)
    except RequestError:
        return None


def _listed(value: Any) -> Iterator[tuple[Any, int | None]]:
    """(URL, parts) of every object that has one, and every text that is one, anywhere in a document."""
    pending, nodes = [value], 0
    while pending and nodes < _MAX_NODES:
        here = pending.pop()
        nodes += 1
        if isinstance(here, dict):
            parts = here.get("parts")
            number = parts if isinstance(parts, int) and not isinstance(parts, bool) else None
            if isinstance(here.get("url"), str):
                yield here["url"], number
            pending += [each for name, each in reversed(here.items()) if name != "url"]
        elif isinstance(here, list):
            pending += reversed(here)
        elif isinstance(here, str) and here.startswith(("/", "http")) and _IS_DOCUMENT.search(here):
            yield here, None
