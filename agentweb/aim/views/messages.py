"""Messages: sent, read one by one, in their thread or in the inbox, and removed."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.aim import accept, inbox, messages, shapes, threads
from agentweb.aim.operations import CURSOR, Operation
from agentweb.aim.policy import PAGE_DEFAULT, request_bytes
from agentweb.aim.views.base import AimView, answer
from agentweb.wire.errors import Code, InputError, RequestError
from agentweb.wire.json_types import Json
from agentweb.wire.schema import compile_schema
from agentweb.wire.schema.problems import make_problem

_INBOX: Final = compile_schema(shapes.INBOX_QUERY)
_IN: Final = compile_schema(shapes.IN_QUERY)
_THREAD: Final = compile_schema(shapes.THREAD_QUERY)
_PLACE_CODES: Final = (Code.NOT_FOUND, Code.UNKNOWN_COMMUNITY, Code.REMOTE_AUTHORITY)
_ITEM_CODES: Final = (
    Code.INVALID_ENVELOPE,
    Code.UNKNOWN_FIELD,
    Code.INVALID_ADDRESS,
    Code.REMOTE_AUTHORITY,
    Code.RESERVED_TYPE,
    Code.BAD_ENVELOPE_SIGNATURE,
    Code.TS_OUT_OF_RANGE,
    Code.AUTHOR_MISMATCH,
    Code.UNKNOWN_RECIPIENT,
    Code.UNKNOWN_COMMUNITY,
    Code.RECIPIENT_NOT_ACCEPTING,
    Code.RECIPIENT_KEY_CHANGED,
    Code.SEALED_NOT_ALLOWED,
    Code.ID_REUSED,
    Code.ID_CONFLICT,
    Code.UNKNOWN_REPLY_TARGET,
    Code.REPLY_TARGET_EXPIRED,
    Code.THREAD_MISMATCH,
    Code.QUOTA_EXCEEDED,
)


class InboxView(AimView):
    """``GET ?lane=&with=&cursor=&limit=``: what came, newest first."""

    operations: ClassVar = {
        "GET": Operation(
            "receive",
            "What came for the agent, newest first; or one conversation, both directions.",
            {200: "Inbox"},
            query=shapes.INBOX_QUERY,
            codes=(*CURSOR, *_PLACE_CODES),
        )
    }

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        query = self.query(_INBOX)
        if "with" in query and "lane" in query:
            message = "A conversation is whole, whatever its lane; leave lane out."
            raise InputError([make_problem(("lane",), "unexpected", message)], code=Code.INVALID_PARAMETER)
        found = inbox.read_inbox(
            self.agent,
            lane=query.get("lane", inbox.PRIMARY),
            with_=query.get("with"),
            cursor=query.get("cursor"),
            limit=query.get("limit", PAGE_DEFAULT),
            authority=self.site,
        )
        return answer(found)


class MessagesView(AimView):
    """``POST``: one signed envelope, or ``{"messages": [1 to 20]}``."""

    operations: ClassVar = {
        "POST": Operation(
            "speak",
            "Send a signed envelope, or up to twenty in one request.",
            {202: "AcceptedOrBatch", 207: "BatchResult"},
            body="EnvelopeOrBatch",
            codes=(*_ITEM_CODES, Code.BATCH_TOO_LARGE),
        )
    }

    def max_body_bytes(self) -> int:
        return request_bytes()

    def post(self, request: Request, **captured: Any) -> HttpResponse:
        if not self.body():
            raise RequestError(
                Code.INVALID_ENVELOPE,
                'The request has no body: send a signed envelope, or {"messages": [1 to 20 of them]}.',
                field="body",
            )
        document = self.json()
        if isinstance(document, dict) and "messages" in document:
            return self.batch(document)
        [result] = self.accept([document])
        if result.error is not None:
            raise result.error
        return answer(result.receipt(), status=result.status)

    def batch(self, document: dict[str, Json]) -> HttpResponse:
        listed = document["messages"]
        problems = [
            make_problem(
                (name,), "unknown_field", f"'{name}' is not known; a batch is messages and nothing else."
            )
            for name in document
            if name != "messages"
        ]
        if not isinstance(listed, list):
            problems.append(make_problem(("messages",), "type", "'messages' must be a list of envelopes."))
        elif not listed:
            problems.append(
                make_problem(("messages",), "minItems", "'messages' must have one envelope or more.")
            )
        if problems or not isinstance(listed, list):
            raise InputError(problems)
        results = self.accept(listed)
        accepted = sum(result.accepted for result in results)
        failed = len(results) - accepted
        return answer(
            {"results": [result.as_dict() for result in results], "accepted": accepted, "failed": failed},
            status=207 if failed else 202,
        )

    def accept(self, envelopes: list[Json]) -> list[accept.ItemResult]:
        results = accept.accept(self.agent, envelopes, key=self.key, authority=self.site)
        if any(result.charged for result in results):
            self.wake()
        return results


class MessageView(AimView):
    """``GET`` and ``DELETE`` of one message, ``?in=`` the other agent's address."""

    operations: ClassVar = {
        "GET": Operation(
            "readMessage",
            "One message of a conversation, whole; a tombstone where it is gone.",
            {200: "Message"},
            query=shapes.IN_QUERY,
            codes=_PLACE_CODES,
        ),
        "DELETE": Operation(
            "removeMessage",
            "Remove an own message from both sides of the conversation.",
            {200: "Removed"},
            query=shapes.IN_QUERY,
            codes=(*_PLACE_CODES, Code.AUTHOR_MISMATCH),
        ),
    }

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        return answer(messages.find(self.agent, captured["id"], self.query(_IN)["in"], self.site))

    def delete(self, request: Request, **captured: Any) -> HttpResponse:
        removed = messages.remove(self.agent, captured["id"], self.query(_IN)["in"], self.site)
        self.wake()
        return answer(removed)


class ThreadView(AimView):
    """``GET ?in=&cursor=&limit=``: a thread from its root on."""

    operations: ClassVar = {
        "GET": Operation(
            "readThread",
            "The messages of a thread in their order, whole; the first is its root.",
            {200: "Thread"},
            query=shapes.THREAD_QUERY,
            codes=(*CURSOR, *_PLACE_CODES),
        )
    }

    def get(self, request: Request, *, root: str, **captured: Any) -> HttpResponse:
        query = self.query(_THREAD)
        found = threads.thread(
            self.agent,
            root,
            query["in"],
            self.site,
            query.get("cursor"),
            query.get("limit", PAGE_DEFAULT),
        )
        return answer(found)
