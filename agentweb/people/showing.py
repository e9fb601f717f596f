"""A waiting call in words for the person who decides: who asks, for what, at what cost, with which input.

What an agent wrote is data. Odd characters are written as their code points and lengths are bounded; the templates
escape the rest. When something is left out, ``is_cut`` says so, because nobody should approve what they cannot see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agentweb.access import approvals
from agentweb.access.approvals import End, State, state_of
from agentweb.access.models import Approval, Grant, Session
from agentweb.catalog.actions import Effect
from agentweb.catalog.registry import registry
from agentweb.catalog.schema_secrets import HIDDEN, HIDDEN_UNDECLARED
from agentweb.wire import strict_json
from agentweb.wire.money import format_amount
from agentweb.wire.strict_json import Json
from agentweb.wire.visible import visible

MAX_ROWS: Final = 200
MAX_TEXT: Final = 5_000
"""Characters of one value."""
MAX_NAME: Final = 100

_SESSION: Final = "session:"
_EFFECTS: Final[dict[str, Promise]] = {
    Effect.WRITE: gettext_lazy("It changes something on this site."),
    Effect.SEND: gettext_lazy("It sends something to other people."),
    Effect.SPEND: gettext_lazy("It spends money."),
    Effect.DELETE: gettext_lazy("It deletes something."),
}
_ENDS: Final[dict[End, Promise]] = {
    End.REVOKED: gettext_lazy(
        "The agent's right to act here was taken back, so it cannot make this call any more."
    ),
    End.EXPIRED: gettext_lazy(
        "The agent's right to act here has ended, so it cannot make this call any more."
    ),
    End.PERSON: gettext_lazy("The person's account is closed, so the agent cannot make this call any more."),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One value of the input; ``name`` is its place in it. ``is_hidden``: it is secret, and not shown to anyone;
    ``is_undeclared``: the same by its name alone, and the action does not say what it is for."""

    name: str
    text: str
    is_hidden: bool = False
    is_undeclared: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """An approval as a template shows it. ``agent_name`` is what the agent calls itself, ``note`` what was written on
    its grant; either may be empty. ``person`` is for whom the agent acts, empty for nobody; ``cost`` is empty when the
    action does not spend."""

    id: str
    state: State
    agent_name: str
    agent_key: str
    note: str
    person: str
    title: str
    description: str
    effect: str
    cost: str
    created_at: datetime
    expires_at: datetime
    rows: list[Row] = field(default_factory=list)
    is_cut: bool = False
    end: str = ""
    """Why the call cannot be made any more although it waits; empty while it can."""

    @property
    def is_pending(self) -> bool:
        return self.state == State.PENDING

    @property
    def is_approvable(self) -> bool:
        """Nobody can approve what is not shown whole, or what would be refused all the same."""
        return self.is_pending and not self.is_cut and not self.end


def show(found: Sequence[Approval]) -> list[Shown]:
    """At most three queries for any number of approvals whose users are there."""
    ends = approvals.ends_of(found)
    notes = dict(Grant.objects.filter(pk__in={each.grant_id for each in found}).values_list("pk", "note"))
    sessions = {each.subject.removeprefix(_SESSION) for each in found if each.subject.startswith(_SESSION)}
    names = dict(Session.objects.filter(pk__in=sessions).values_list("pk", "client_name")) if sessions else {}
    return [
        _shown(
            each,
            note=notes.get(each.grant_id, ""),
            agent_name=names.get(each.subject.removeprefix(_SESSION), ""),
            end=str(_ENDS[ends[each.pk]]) if each.pk in ends else "",
        )
        for each in found
    ]


def _shown(approval: Approval, *, note: str, agent_name: str, end: str) -> Shown:
    action = registry.get(approval.action)
    rows, is_cut = rows_of(strict_json.loads(approval.shown.encode(), max_bytes=len(approval.shown) * 4 + 1))
    return Shown(
        id=approval.id,
        state=state_of(approval),
        agent_name=visible(agent_name),
        agent_key="" if approval.subject.startswith(_SESSION) else approval.subject,
        note=visible(note),
        person="" if approval.user is None else visible(approval.user.get_username()),
        title=action.title if action is not None else approval.action,
        description=action.description if action is not None else "",
        effect=str(_EFFECTS.get(approval.effect, "")),
        cost=_cost(approval),
        created_at=approval.created_at,
        expires_at=approval.expires_at,
        rows=rows,
        is_cut=is_cut,
        end=end,
    )


def _cost(approval: Approval) -> str:
    if approval.amount is not None:
        amount = format_amount(approval.amount, approval.currency)
        return _("at most %(amount)s %(currency)s") % {"amount": amount, "currency": approval.currency}
    if approval.effect == Effect.SPEND:
        return _("not said in advance; within the agent's mandate")
    return ""


def rows_of(value: Json) -> tuple[list[Row], bool]:
    """The values of an input, flat, and whether something was left out."""
    rows: list[Row] = []
    is_cut = False
    for path, leaf in _leaves(value, ()):
        if len(rows) == MAX_ROWS:
            return rows, True
        text, name = _text(leaf), " › ".join(map(_name, path)) or _("Input")
        is_cut = is_cut or len(text) > MAX_TEXT or any(len(part) > MAX_NAME for part in path)
        rows.append(
            Row(name, visible(text[:MAX_TEXT], lines=True), leaf == HIDDEN, leaf == HIDDEN_UNDECLARED)
        )
    return rows, is_cut


def _leaves(value: Json, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    members: Any = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = ((str(number), item) for number, item in enumerate(value, start=1))
    if not members or not value:
        yield path, value
        return
    for name, member in members:
        yield from _leaves(member, (*path, name))


def _name(part: str) -> str:
    return visible(part[:MAX_NAME]) or _("(no name)")


def _text(leaf: Any) -> str:
    if leaf is True or leaf is False:
        return _("yes") if leaf else _("no")
    if isinstance(leaf, str):
        return leaf or _("(empty text)")
    if leaf is None or leaf in ([], {}):
        return _("(nothing)")
    return strict_json.dumps(leaf).decode()
