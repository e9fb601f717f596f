"""Every address of the messenger and what answers there: one table for the URLconf and for ``/openapi.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agentweb.aim import mount
from agentweb.aim.documents import DOCUMENTS
from agentweb.aim.operations import OPTIONAL, Operation
from agentweb.aim.views.base import AimView
from agentweb.aim.views.contacts import ContactsView, ContactView
from agentweb.aim.views.documents import DocumentView, HealthView, PolicyView
from agentweb.aim.views.events import EventsView
from agentweb.aim.views.identities import AgentRecordView, ChallengesView, MeView, RegisterView
from agentweb.aim.views.messages import InboxView, MessagesView, MessageView, ThreadView


@dataclass(frozen=True, slots=True)
class Route:
    """``path`` has ``{name}`` for a part that varies. ``options`` are given to the view."""

    path: str
    view: type[AimView]
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    is_well_known: bool = False

    @property
    def operations(self) -> Mapping[str, Operation]:
        found: Mapping[str, Operation] = self.options.get("operations", self.view.operations)
        return found


_DOCUMENTS: Final = {
    mount.MANIFEST: ("discover", "What the messenger is, and where its endpoints are.", "Manifest"),
    mount.OPENAPI: ("openapi", "This document.", "Document"),
    mount.AUTHENTICATION_GUIDE: ("authenticationGuide", "How requests are signed, and how to register.", ""),
    mount.ENVELOPES_GUIDE: ("envelopesGuide", "How messages are written, signed and sealed.", ""),
    mount.SIGNING_VECTOR: ("signingVector", "What known keys sign, to compare with.", "Document"),
}


def _document(path: str) -> Route:
    ident, summary, answered = _DOCUMENTS[path]
    media_type, build = DOCUMENTS[path]
    operation = Operation(ident, summary, {200: answered or media_type}, auth=OPTIONAL)
    return Route(
        path,
        DocumentView,
        f"aim-{ident}",
        {"build": build, "operations": {"GET": operation}},
        is_well_known=path == mount.MANIFEST,
    )


ROUTES: Final = (
    *map(_document, DOCUMENTS),
    Route(mount.POLICY, PolicyView, "aim-policy"),
    Route(mount.HEALTH, HealthView, "aim-health"),
    Route(mount.CHALLENGES, ChallengesView, "aim-challenges"),
    Route(mount.REGISTER, RegisterView, "aim-register"),
    Route(mount.ME, MeView, "aim-me"),
    Route(f"{mount.AGENTS}/{{name}}", AgentRecordView, "aim-agent"),
    Route(mount.INBOX, InboxView, "aim-inbox"),
    Route(mount.MESSAGES, MessagesView, "aim-messages"),
    Route(f"{mount.MESSAGES}/{{id}}", MessageView, "aim-message"),
    Route(f"{mount.THREADS}/{{root}}", ThreadView, "aim-thread"),
    Route(mount.EVENTS, EventsView, "aim-events"),
    Route(mount.CONTACTS, ContactsView, "aim-contacts"),
    Route(f"{mount.CONTACTS}/{{name}}", ContactView, "aim-contact"),
)
"""In the order in which they are asked: what is written out before what varies."""
