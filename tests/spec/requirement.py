"""One testable statement of a specification, as an entry of the requirement manifest."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

LEVELS = frozenset({"must", "should", "may"})

TOPICS = frozenset(
    {
        "agent actions",
        "approval",
        "content",
        "finding actions",
        "flows",
        "mcp",
        "messenger",
        "money and negotiation",
        "openapi import",
        "pages",
    }
)
"""What a planned requirement can wait for. ``pages`` is AIP, ``content`` AWP, ``messenger`` AIM."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A behaviour that a specification asks for, in our own words.

    ``id`` never changes once tests name it: ``AA-4.2``, ``AWP-5.1``, ``AIP-3.4`` or ``AIM-S16.1``; the number
    before the dot stands for the section (for AIM: for the numbered fact), the one after it counts on.
    ``section`` is the heading in the specification, ``level`` one of ``LEVELS``.

    The state follows from the last two members, of which at most one is given:

    - ``planned`` names the topic (one of ``TOPICS``) that will bring it; no test may carry its marker yet.
    - ``reason`` says why no test can prove it.
    - Neither: it is implemented, and at least one test carries ``@pytest.mark.requirement(id)``.

    Which tests prove it is not written here; it is read from the markers.
    """

    id: str
    section: str
    level: str
    behaviour: str
    _: KW_ONLY
    planned: str | None = None
    reason: str | None = None

    @property
    def implemented(self) -> bool:
        return self.planned is None and self.reason is None

    @property
    def specification(self) -> str:
        """``AA``, ``AWP``, ``AIP`` or ``AIM``."""
        return self.id.partition("-")[0]
