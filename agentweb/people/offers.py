"""What a person can give to a program, scope by scope and in words.

A pattern that a program asks for (``cart:*``) is spelt out: the person sees, and gives, the scopes that the site's
actions ask for today, and not those of tomorrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from agentweb.access.pairing import NO_SCOPE, Wanted
from agentweb.catalog.effects import Effect
from agentweb.catalog.registry import registry
from agentweb.catalog.scopes_in_use import Use, scopes_in_use
from agentweb.wire.scopes import covers

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

EFFECTS: Final[dict[Effect, Promise]] = {
    Effect.READ: gettext_lazy("only looks"),
    Effect.WRITE: gettext_lazy("changes something"),
    Effect.SEND: gettext_lazy("sends something to others"),
    Effect.SPEND: gettext_lazy("spends money"),
    Effect.DELETE: gettext_lazy("deletes something"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that a scope lets a program do."""

    title: str
    description: str
    effect: Promise
    is_serious: bool


@dataclass(frozen=True, slots=True)
class Offer:
    """One scope. ``is_serious``: something that it opens spends, sends or deletes, or is declared consequential."""

    scope: str
    lines: tuple[Line, ...]
    is_serious: bool
    is_suggested: bool


@dataclass(frozen=True, slots=True)
class Offers:
    """``items`` can be given one by one; ``always`` is what every connected program may do. ``sees_pages``: the site
    has pages that a connected program sees as its person does."""

    items: tuple[Offer, ...]
    always: tuple[Line, ...]
    sees_pages: bool

    @property
    def is_good_without_scopes(self) -> bool:
        return bool(self.always) or self.sees_pages


def offers_for(person: AbstractBaseUser, wanted: Wanted) -> Offers:
    """What a program asks this person for, as far as they may see it themselves.

    Suggested (ticked beforehand) is what neither spends, sends nor deletes, if the program named it; of what it did
    not name, only what merely looks. Nobody gives the rest without a tick of their own.
    """
    found = scopes_in_use(person)
    always = found.pop("", [])
    is_named = wanted.scopes is not None or bool(wanted.pages)
    if is_named:
        of_pages = scopes_in_use(person, pages=wanted.pages) if wanted.pages else {}
        found = {
            scope: uses
            for scope, uses in found.items()
            if scope in of_pages or any(covers(pattern, scope) for pattern in wanted.scopes or ())
        } | {scope: uses for scope, uses in of_pages.items() if scope and scope not in found}
    items = [_offer(scope, uses, is_named=is_named) for scope, uses in sorted(found.items())]
    return Offers(tuple(items), tuple(map(_line, always)), bool(registry.pages()))


def lines_of(patterns: Sequence[str], in_use: dict[str, list[Use]]) -> list[Line]:
    """What these scopes of a grant let an agent do; ``in_use`` is that of the person who looks."""
    return [
        _line(use)
        for scope, uses in in_use.items()
        if scope and any(covers(pattern, scope) for pattern in patterns)
        for use in uses
    ]


def _offer(scope: str, uses: Sequence[Use], *, is_named: bool) -> Offer:
    is_serious = any(use.is_consequential for use in uses)
    is_suggested = not is_serious and (is_named or all(use.effect is Effect.READ for use in uses))
    return Offer(scope, tuple(map(_line, uses)), is_serious, is_suggested)


def _line(use: Use) -> Line:
    return Line(use.title, use.description, EFFECTS[use.effect], use.is_consequential)


def granted(scopes: Sequence[str]) -> list[Any]:
    """Scopes for a grant: at least one."""
    return list(scopes) or [NO_SCOPE]
