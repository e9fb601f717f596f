"""The messenger in the admin: its agents, what became of messages, and how its background work stands.

``agentweb/admin.py`` registers it; only a site that has ``django.contrib.admin`` loads it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q
from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agentweb.access.admin import showing
from agentweb.access.admin.base import ChosenFilter, LogAdmin, OlderFilter, ReadOnlyAdmin, Rows, number_of
from agentweb.access.admin.decisions import DecidingAdmin, Decision, Refused
from agentweb.aim import agents, consumers, health, messages, quotas, site
from agentweb.aim.models import Agent, AgentKey, Contact, LogConsumer, Message
from agentweb.aim.records import address_of
from agentweb.wire.errors import AgentError
from agentweb.wire.strict_json import loads

READ: Final = "agentweb.read_message"
_PRIVATE: Final = ("envelope", "digest")
"""What is read of messages by nobody without ``READ``. Of a short text the digest tells all: whoever has it and what
else stands on the page can try one text after the other."""
_SUSPEND: Final = "agentweb.change_agent"
_DELETE: Final = "agentweb.delete_agent"
_REMOVE: Final = "agentweb.delete_message"

_STATUS: Final = {
    Agent.Status.ACTIVE: ("good", _("active")),
    Agent.Status.SUSPENDED: ("bad", _("suspended")),
    Agent.Status.DELETED: ("over", _("deleted")),
}
_STATES: Final = {
    Message.State.LIVE: ("good", _("there")),
    Message.State.REMOVED: ("bad", _("removed")),
    Message.State.ERASED: ("over", _("erased with its author")),
    Message.State.EXPIRED: ("over", _("expired")),
}
_WORK: Final = {
    consumers.RECEIVED: _("Counting what came for each agent"),
    consumers.TOLD: _("Telling the site of accepted messages"),
}


class StatusFilter(admin.SimpleListFilter):
    title = _("status")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(status.value, word) for status, (_class, word) in _STATUS.items()]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        value = self.value()
        return queryset.filter(status=value) if value in Agent.Status.values else queryset


class AgentAdmin(DecidingAdmin, LogAdmin):
    """Who is registered. Names and keys stay for good, so nothing is deleted here but what an agent may do."""

    list_display = ("name_text", "status_badge", "charged", "received", "created_at")
    list_display_links = ("name_text",)
    list_filter = (StatusFilter, OlderFilter)
    list_select_related = ("account",)
    search_fields = ("name__startswith", "keys__public__exact")
    search_help_text = _("The beginning of a name, or a whole public key.")
    fields = (
        "address",
        "status_badge",
        "created_at",
        "ended_at",
        "dm_policy",
        "keys_list",
        "quota",
        "contacts_count",
        "messages_link",
    )
    decisions: ClassVar = (
        Decision(
            "suspend",
            _("Suspend"),
            _("Suspend this agent"),
            _(
                "It can neither write nor read until it is let in again, and nobody can write to it: others are told "
                "that it takes no message at present. What it wrote and what it was sent stays."
            ),
            _SUSPEND,
            asks_reason=True,
        ),
        Decision(
            "resume",
            _("Let in again"),
            _("Let this agent in again"),
            _("It can write and read from now on, and others can write to it again."),
            _SUSPEND,
            is_grave=False,
        ),
        Decision(
            "delete_for_good",
            _("Delete for good"),
            _("Delete this agent for good"),
            _(
                "There is no way back, and nobody ever gets its name or its keys. Its contacts are forgotten, and "
                "those who had accepted it are told. What it wrote to others stays theirs; its notes to itself are "
                "erased."
            ),
            _DELETE,
            asks_reason=True,
        ),
    )

    def may_decide(self, request: HttpRequest, decision: Decision, row: Any = None) -> bool:
        fitting = {
            "suspend": {Agent.Status.ACTIVE},
            "resume": {Agent.Status.SUSPENDED},
            "delete_for_good": {Agent.Status.ACTIVE, Agent.Status.SUSPENDED},
        }[decision.name]
        return super().may_decide(request, decision, row) and row.status in fitting

    def decide_suspend(self, request: HttpRequest, row: Agent, reason: str) -> str:
        return self._changed(request, row, agents.suspend(row), "Suspended", reason)

    def decide_resume(self, request: HttpRequest, row: Agent, reason: str) -> str:
        return self._changed(request, row, agents.restore(row), "Let in again", reason)

    def decide_delete_for_good(self, request: HttpRequest, row: Agent, reason: str) -> str:
        return self._changed(request, row, agents.delete(row), "Deleted for good", reason)

    def describe(self, row: Agent) -> Any:
        return self.address(row)

    def _changed(self, request: HttpRequest, row: Agent, is_new: bool, done: str, reason: str) -> str:
        if not is_new:
            raise Refused(gettext("Too late: it was changed meanwhile."))
        self.log_change(request, row, f"{done}: {reason}" if reason else f"{done}.")
        return gettext("Done. It counts from this moment on.")

    @admin.display(description=_("Name"))
    def name_text(self, row: Agent) -> SafeString:
        return showing.said(row.name)

    @admin.display(description=_("Address"))
    def address(self, row: Agent) -> SafeString:
        return showing.code(address_of(row.name, site.authority()))

    @admin.display(description=_("Status"))
    def status_badge(self, row: Agent) -> SafeString:
        return showing.badge(*_STATUS[Agent.Status(row.status)])

    @admin.display(description=_("Accepted"))
    def charged(self, row: Agent) -> int:
        return row.account.charged if hasattr(row, "account") else 0

    @admin.display(description=_("Received"))
    def received(self, row: Agent) -> int:
        return row.account.received if hasattr(row, "account") else 0

    @admin.display(description=_("Keys"))
    def keys_list(self, row: Agent) -> SafeString:
        keys = AgentKey.objects.filter(agent=row).order_by("since")
        return showing.lines(
            showing.pair(
                showing.code(key.public), showing.times([(_("since"), key.since), (_("until"), key.until)])
            )
            for key in keys
        )

    @admin.display(description=_("Quotas"))
    def quota(self, row: Agent) -> SafeString:
        left = quotas.left(row)
        return showing.lines(
            [
                gettext("%(messages)d messages at once, %(messages_today)d today, are left") % left,
                gettext("%(new_contacts)d strangers can be written to") % left,
                gettext("%(charged)d messages accepted, %(received)d received since it registered") % left,
            ]
        )

    @admin.display(description=_("Contacts"))
    def contacts_count(self, row: Agent) -> str:
        states = Contact.objects.filter(owner=row).values_list("state", flat=True)[:10_000]
        found = list(states)
        return gettext("%(accepted)d accepted, %(blocked)d blocked") % {
            "accepted": found.count(Contact.State.ACCEPTED),
            "blocked": found.count(Contact.State.BLOCKED),
        }

    @admin.display(description=_("Messages"))
    def messages_link(self, row: Agent) -> SafeString:
        return showing.list_link(
            self.admin_site, "message", gettext("Messages of this agent"), agent=str(row.pk)
        )


class AgentFilter(ChosenFilter):
    """Messages that an agent wrote or got."""

    title = _("agent")
    parameter_name = "agent"

    def name_of(self, value: str) -> str:
        try:
            found = Agent.objects.filter(pk=number_of(value)).first()
        except ValueError:
            found = None
        return found.name if found else super().name_of(value)

    def narrowed(self, rows: Rows, value: str) -> Rows:
        key = number_of(value)
        return rows.filter(Q(sender=key) | Q(recipient=key))


class MessageStateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(state.value, word) for state, (_class, word) in _STATES.items()]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        value = self.value()
        return queryset.filter(state=value) if value in Message.State.values else queryset


class MessageAdmin(DecidingAdmin, LogAdmin):
    """That a message was sent, and what became of it. What it says is its two agents' own: it is shown to who has
    ``read_message``, and read from the database for nobody else."""

    list_display = ("accepted_at", "sender_link", "recipient_link", "type_text", "state_badge", "ident")
    list_display_links = ("accepted_at",)
    list_filter = (MessageStateFilter, AgentFilter, OlderFilter)
    list_select_related = ("sender", "recipient")
    search_fields = ("message_id",)
    search_help_text = _(
        "A whole name of an agent, or with a blank after it the id of a message that it wrote."
    )
    fields = (
        "ident",
        "sender_link",
        "recipient_link",
        "type_text",
        "state_badge",
        "accepted_at",
        "ended_at",
        "root_code",
        "signed_by_code",
        "digest_code",
        "body",
    )
    decisions: ClassVar = (
        Decision(
            "remove",
            _("Remove"),
            _("Remove this message"),
            _(
                "Its text goes for good, for both agents, and both are told. That it was there can still be seen."
            ),
            _REMOVE,
            asks_reason=True,
        ),
    )

    def get_queryset(self, request: HttpRequest) -> Rows:
        rows = super().get_queryset(request).select_related("sender", "recipient")
        match = request.resolver_match
        is_page = match is not None and (match.url_name or "").endswith("_change")
        return rows if is_page and request.user.has_perm(READ) else rows.defer(*_PRIVATE)

    def get_search_results(self, request: HttpRequest, queryset: Rows, search_term: str) -> tuple[Rows, bool]:
        """Along the indexes, which begin with an agent."""
        name, _blank, ident = search_term.strip().partition(" ")
        if not name:
            return queryset, False
        found = Agent.objects.filter(name=name.partition("@")[0]).first()
        if found is None:
            return queryset.none(), False
        if ident:
            return queryset.filter(sender=found, message_id=ident.strip()), False
        return queryset.filter(Q(sender=found) | Q(recipient=found)), False

    def may_decide(self, request: HttpRequest, decision: Decision, row: Any = None) -> bool:
        return super().may_decide(request, decision, row) and row.state == Message.State.LIVE

    def decide_remove(self, request: HttpRequest, row: Message, reason: str) -> str:
        here = site.authority()
        place = address_of((row.recipient or row.sender).name, here)
        messages.remove(row.sender, row.message_id, place, here)
        self.log_change(request, row, f"Removed: {reason}" if reason else "Removed.")
        return gettext("Removed.")

    def describe(self, row: Message) -> Any:
        return showing.lines([self.ident(row), self.sender_link(row), self.recipient_link(row)])

    @admin.display(description=_("Id"))
    def ident(self, row: Message) -> SafeString:
        return showing.short_text(row.message_id)

    @admin.display(description=_("From"))
    def sender_link(self, row: Message) -> SafeString:
        return showing.link(self.admin_site, Agent, row.sender_id, showing.said(row.sender.name))

    @admin.display(description=_("To"))
    def recipient_link(self, row: Message) -> SafeString:
        if row.recipient is None:
            return showing.NOTHING
        return showing.link(self.admin_site, Agent, row.recipient_id, showing.said(row.recipient.name))

    @admin.display(description=_("Type"))
    def type_text(self, row: Message) -> SafeString:
        return showing.said(row.type)

    @admin.display(description=_("State"))
    def state_badge(self, row: Message) -> SafeString:
        return showing.badge(*_STATES[Message.State(row.state)])

    @admin.display(description=_("Began with"))
    def root_code(self, row: Message) -> SafeString:
        return showing.code(row.root)

    @admin.display(description=_("Signed by"))
    def signed_by_code(self, row: Message) -> SafeString:
        return showing.code(row.signed_by)

    @admin.display(description=_("Digest"))
    def digest_code(self, row: Message) -> SafeString:
        return _withheld() if _is_private(row) else showing.code(row.digest)

    @admin.display(description=_("Signed envelope"))
    def body(self, row: Message) -> SafeString:
        if _is_private(row):
            return _withheld()
        if not row.envelope:
            return showing.NOTHING
        try:
            return showing.document(loads(row.envelope.encode(), allow_nul=True, floats="float"))
        except (AgentError, ValueError):
            return showing.said(row.envelope)


def _is_private(row: Message) -> bool:
    return not row.get_deferred_fields().isdisjoint(_PRIVATE)


def _withheld() -> SafeString:
    return showing.said(gettext("Private. It needs the permission to read the bodies of messages."))


class _WorkList(ChangeList):
    """The list, with the state of the log above it."""

    note: SafeString | str = ""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        found = health.look()
        self.note = _note(found)
        readers = {reader.name: reader for reader in found.readers}
        rows = list(self.result_list)
        for row in rows:
            row.reader = readers.get(row.name)
        self.result_list = rows


class LogConsumerAdmin(ReadOnlyAdmin):
    """Whether somebody does the messenger's background work, and how far it is."""

    list_display = ("work", "state", "left", "heard_at", "position")
    list_display_links = None
    sortable_by = ()
    ordering = ("name",)
    fields = ("name", "position", "heard_at", "period", "leased_until")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return _WorkList

    @admin.display(description=_("Work"))
    def work(self, row: LogConsumer) -> Any:
        return _WORK.get(row.name) or showing.said(row.name)

    @admin.display(description=_("State"))
    def state(self, row: Any) -> SafeString:
        if row.reader is None:
            return showing.NOTHING
        if row.reader.is_unheard:
            return showing.badge("bad", _("nobody is heard"))
        if row.reader.is_late:
            return showing.badge("bad", _("does not get on"))
        return showing.badge("waiting", _("behind")) if row.reader.lag else showing.badge("good", _("done"))

    @admin.display(description=_("Left to do"))
    def left(self, row: Any) -> Any:
        if row.reader is None or not row.reader.lag:
            return showing.NOTHING
        return gettext("%(lag)d events, the oldest for %(seconds)d seconds") % {
            "lag": row.reader.lag,
            "seconds": row.reader.oldest_seconds,
        }


def _note(found: health.Health) -> SafeString:
    kept = (
        gettext("The log keeps its events %(first)d to %(last)d.")
        if found.last > found.floor
        else gettext("The log keeps no events; %(last)d were there.")
    ) % {"first": found.floor + 1, "last": found.last}
    at = gettext("Looked at %s.") % date_format(localtime(found.at), "DATETIME_FORMAT")
    said = f"{kept} {at}"
    if not any(reader.is_unheard for reader in found.readers):
        return format_html("{}", said)
    late = showing.badge("bad", _("No worker is heard"))
    return format_html(
        "{} {} {}", said, late, gettext("Run manage.py agentweb_worker, or the tasks of Celery.")
    )
