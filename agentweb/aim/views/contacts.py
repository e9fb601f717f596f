"""Contacts: whom the agent has accepted or blocked."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.aim import contacts, shapes
from agentweb.aim.operations import CURSOR, Operation
from agentweb.aim.policy import PAGE_DEFAULT
from agentweb.aim.views.base import AimView, answer
from agentweb.wire.errors import Code
from agentweb.wire.schema import compile_schema

_LIST: Final = compile_schema(shapes.CONTACTS_QUERY)
_STATE: Final = compile_schema(shapes.CONTACT_BODY)


class ContactsView(AimView):
    """``GET ?state=&cursor=&limit=``: by name."""

    operations: ClassVar = {
        "GET": Operation(
            "listContacts",
            "The agents that this one has accepted or blocked, by name.",
            {200: "Contacts"},
            query=shapes.CONTACTS_QUERY,
            codes=CURSOR,
        )
    }

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        query = self.query(_LIST)
        found = contacts.listed(
            self.agent, query.get("state"), self.site, query.get("cursor"), query.get("limit", PAGE_DEFAULT)
        )
        return answer(found)


class ContactView(AimView):
    """``PUT {"state"}`` and ``DELETE`` of one contact; both may be repeated."""

    operations: ClassVar = {
        "PUT": Operation(
            "setContact",
            "Accept an agent, so that its messages come to the primary lane, or block it.",
            {200: "ContactAnswer"},
            body="ContactState",
            codes=(Code.NOT_FOUND, Code.AGENT_DELETED),
        ),
        "DELETE": Operation(
            "forgetContact",
            "Make an agent a stranger again.",
            {200: "Forgotten"},
            codes=(Code.NOT_FOUND,),
        ),
    }

    def put(self, request: Request, *, name: str, **captured: Any) -> HttpResponse:
        state = self.input(_STATE)["state"]
        self.allowances.append(contacts.take(self.agent))
        contact = contacts.set_state(self.agent, name, state, self.site)
        self.wake()
        return answer(contact)

    def delete(self, request: Request, *, name: str, **captured: Any) -> HttpResponse:
        self.allowances.append(contacts.take(self.agent))
        removed = contacts.remove(self.agent, name, self.site)
        self.wake()
        return answer({"removed": removed})
