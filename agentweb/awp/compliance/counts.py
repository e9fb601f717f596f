"""Every text of a site that has a budget, counted, and the table of budgets that comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agentweb.awp import protocol
from agentweb.awp.budgets import (
    API_DESCRIPTION,
    BUDGETS,
    DISCOVERY_DESCRIPTION,
    FUNCTION_DESCRIPTION,
    INSTRUCTIONS,
    LLMS_INTRO,
    PAGE,
    SUMMARY,
    Budget,
)
from agentweb.awp.compliance.counting import Count, count_for
from agentweb.awp.compliance.documents import OPENAPI, WELL_KNOWN, Documents
from agentweb.awp.compliance.problems import Problem, Severity
from agentweb.awp.compliance.reading import Spot, shown
from agentweb.awp.compliance.site import Reply


@dataclass(frozen=True, slots=True)
class Counted:
    """A text that has a budget; ``name`` says which one it is where an address holds several."""

    budget: Budget
    count: Count
    address: str
    name: str = ""
    pointer: str = ""
    spot: Spot | None = None

    @property
    def is_over(self) -> bool:
        return self.count.tokens > self.budget.tokens


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: how many texts have this budget, and the one that comes closest to it."""

    budget: Budget
    texts: int
    over: int
    most: Counted | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        most = self.most
        return {
            "name": self.budget.name,
            "title": self.budget.title,
            "budget": self.budget.tokens,
            "texts": self.texts,
            "over": self.over,
            "most": None if most is None else most.count.tokens,
            "most_at": None if most is None else most.address,
        }


class Counts:
    """All texts of a site that have a budget, counted once. ``unread`` are those that should be there and are not."""

    def __init__(self, documents: Documents) -> None:
        self.texts: list[Counted] = []
        self.unread: list[Problem] = []
        self.pages_read = 0
        self.pages_listed = 0
        self._documents = documents
        self._count(documents)
        self.pages_listed = len(documents.pages)
        self._add_pages(documents)
        for language in documents.site.languages[1:]:
            other = Documents(documents.site, language)
            self._count(other)
            self._add_versions(other)

    def rows(self) -> list[Row]:
        """One for each budget, in the order of the specification's table."""
        rows = []
        for budget in BUDGETS:
            texts = [each for each in self.texts if each.budget is budget]
            most = max(texts, key=lambda each: each.count.tokens, default=None)
            rows.append(Row(budget, len(texts), sum(each.is_over for each in texts), most))
        return rows

    def _count(self, documents: Documents) -> None:
        """All but the pages."""
        self._add_description(documents)
        for budget, path in ((SUMMARY, protocol.SUMMARY), (INSTRUCTIONS, protocol.INSTRUCTIONS)):
            for part in documents.parts_at(documents.address(path)):
                if part.reply.status == 200:
                    self._add(budget, text_of(part.reply), part.reply.address, _in(documents))
        for entry in documents.functions:
            description = entry.get("description") if isinstance(entry, dict) else None
            if isinstance(description, str):
                name = shown(entry["name"]) if isinstance(entry.get("name"), str) else ""
                self._add(
                    FUNCTION_DESCRIPTION, description, documents.functions_address, _in(documents, name)
                )
        for operation, description in documents.operations:
            self._add(
                API_DESCRIPTION, description, documents.address(OPENAPI), _in(documents, shown(operation))
            )
        llms = documents.read(documents.llms_address)
        if llms.status == 200:
            self._add(LLMS_INTRO, intro_of(text_of(llms)), llms.address, _in(documents))

    def _add_description(self, documents: Documents) -> None:
        validation = documents.validation
        description = documents.manifest.get("description")
        if validation is not None and isinstance(description, str):
            count = count_for(description, DISCOVERY_DESCRIPTION)
            spot = validation.reading.spot("/description")
            self.texts.append(
                Counted(DISCOVERY_DESCRIPTION, count, WELL_KNOWN, _in(documents), "/description", spot)
            )

    def _add_pages(self, documents: Documents) -> None:
        sample = documents.sample
        for page in documents.site.track(sample, len(sample)):
            read = 0
            for part in documents.parts_at(page.address):
                if part.reply.status != 200:
                    self.unread.append(
                        Problem(
                            Severity.WARNING,
                            "status",
                            f"The content is listed and {part.reply.said}.",
                            "List what is there; with agentweb run `manage.py agentweb_content`.",
                            address=part.reply.address,
                        )
                    )
                    break
                read += 1
                self._add(PAGE, text_of(part.reply), part.reply.address)
            self.pages_read += read > 0
            if page.parts is not None and 0 < read < page.parts:
                self.unread.append(
                    Problem(
                        Severity.WARNING,
                        "parts",
                        f"The list says {page.parts} parts; {read} can be reached along the links.",
                        'Let every part but the last have Link: <?part=2>; rel="next", and so on.',
                        address=page.address,
                    )
                )

    def _add_versions(self, documents: Documents) -> None:
        """The pages in another language, those that are there in it."""
        sample = self._documents.sample
        for page in documents.site.track(sample, len(sample)):
            # Without the language that a list of ours names in its addresses.
            for part in documents.parts_at(page.address.partition("?")[0]):
                said = part.reply.header("content-language") or ""
                if part.reply.status != 200 or said.lower() != documents.language:
                    break
                self._add(PAGE, text_of(part.reply), part.reply.address, _in(documents))

    def _add(self, budget: Budget, text: str, address: str, name: str = "") -> None:
        self.texts.append(Counted(budget, count_for(text, budget), address, name))


def _in(documents: Documents, name: str = "") -> str:
    """What a text is called, with the language that was asked for."""
    return " ".join(filter(None, [name, documents.language and f"in {documents.language}"]))


class CountedDocuments(Documents):
    """The documents, and the counts of their texts, made when they are first asked for."""

    @cached_property
    def counts(self) -> Counts:
        return Counts(self)


def text_of(reply: Reply) -> str:
    """The text of an answer; a byte that is not UTF-8 counts as the sign that stands for such."""
    return reply.body.decode("utf-8", errors="replace")


def intro_of(llms: str) -> str:
    """What stands in llms.txt before its first list: heading, summary and details (llmstxt.org)."""
    lines: list[str] = []
    for line in _lines(llms):
        if line.startswith("## "):
            break
        lines.append(line)
    return "\n".join(lines).strip()


def _lines(text: str) -> Iterator[str]:
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end].rstrip("\r")
        start = end + 1
