"""Agents: how one comes to be, what others know of it, and what it says of itself."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.access import callers
from agentweb.access.callers import Caller
from agentweb.aim import agents, authentication, challenges, log, quotas, registration, shapes
from agentweb.aim.authentication import Holder, Verified
from agentweb.aim.cursors import event_cursor
from agentweb.aim.models import Agent, AgentKey
from agentweb.aim.operations import OPTIONAL, Operation
from agentweb.aim.records import address_of, agent_record, key_history
from agentweb.aim.views.base import AimView, answer, not_found
from agentweb.http.addresses import address_of as client_address
from agentweb.wire.errors import AgentError, Code, InputError, RequestError
from agentweb.wire.schema import compile_schema
from agentweb.wire.schema.problems import make_problem

_CHALLENGE: Final = compile_schema(shapes.CHALLENGE_BODY)
_REGISTER: Final = compile_schema(shapes.REGISTER_BODY)
_PATCH: Final = compile_schema(shapes.PATCH_BODY)
_CONFIRM: Final = compile_schema(shapes.CONFIRM_BODY)


class ChallengesView(AimView):
    """``POST``: what a newcomer works on before it registers."""

    operations: ClassVar = {
        "POST": Operation(
            "challenge",
            "Get the work that a new agent does before it registers.",
            {201: "Challenge"},
            auth=OPTIONAL,
            body="NoInput",
            is_body_required=False,
        )
    }
    needs_signature = False
    limits_anonymous = False

    def post(self, request: Request, **captured: Any) -> HttpResponse:
        self.allowances.append(challenges.take(client_address(self.http_request)))
        self.input(_CHALLENGE)
        return answer(challenges.new_challenge(self.site), status=201)


class RegisterView(AimView):
    """``POST``, signed by the new key: 201 with the new agent, 200 when the key was registered before."""

    operations: ClassVar = {
        "POST": Operation(
            "register",
            "Make an agent of a key. Signed by that key; to be repeated until it is answered.",
            {201: "Registered", 200: "Registered"},
            body="Registration",
            codes=(
                Code.INVALID_KEY,
                Code.INVALID_NAME,
                Code.NAME_TAKEN,
                Code.KEY_ALREADY_REGISTERED,
                Code.CHALLENGE_INVALID,
                Code.CHALLENGE_EXPIRED,
                Code.CHALLENGE_USED,
                Code.SOLUTION_INVALID,
            ),
        )
    }

    def identify(self) -> Caller:
        """The signature is that of a key that may be nobody's yet; ``post`` finds out. Anyone can make such a key, so
        the address counts, before a signature is verified."""
        address = client_address(self.http_request)
        header = self.http_request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            raise self.signature_required()
        allowance = authentication.admit_address(address)
        with self.counting(address):
            self.verified = self.verify(header)
        return callers.anonymous(address, allowance)

    def check_key(self, key: str) -> object:
        return registration.check_key(key)

    def post(self, request: Request, **captured: Any) -> HttpResponse:
        document = self.input(_REGISTER)
        verified = self.verified
        if document["public_key"] != verified.key:
            raise RequestError(
                Code.INVALID_KEY,
                "public_key must be the key that signed the request, written in the same way.",
                field="public_key",
            )
        key = authentication.find_key(verified.key)
        if key is not None:
            self.allowances.append(authentication.admit_key(verified, key).allowance)
            return self.existing(key, document)
        return self.new(verified, document)

    def new(self, verified: Verified, document: dict[str, Any]) -> HttpResponse:
        wish = registration.read_wish(document, site=self.site)
        authentication.admit_newcomer(verified)
        try:
            agent, allowance = registration.register(wish, address=self.caller.address)
        except (AgentError, registration.KeyRegisteredMeanwhile):
            # The same registration may have been sent twice at once; then this is the second.
            key = authentication.find_key(verified.key)
            if key is None:
                raise
            return self.existing(key, document)
        self.allowances.append(allowance)
        return self.registered(agent, verified.key, existing=False)

    def existing(self, key: Holder, document: dict[str, Any]) -> HttpResponse:
        if document.get("name", key.agent.name) != key.agent.name:
            raise registration.already_registered(key.agent, self.site)
        return self.registered(key.agent, key.public, existing=True)

    def registered(self, agent: Agent, public: str, *, existing: bool) -> HttpResponse:
        record = agent_record(agent, [AgentKey(public=public, agent=agent)], self.site)
        cursor = event_cursor(log.ends().epoch, agent.registered_seq)
        return answer(
            {"agent": record, "cursor": cursor, "existing": existing}, status=200 if existing else 201
        )


class AgentRecordView(AimView):
    """``GET /v2/agents/{name}``: what is needed to write to an agent and to verify what it wrote."""

    operations: ClassVar = {
        "GET": Operation(
            "agent",
            "An agent and its keys, to write to it and to verify what it wrote.",
            {200: "AgentRecord"},
            auth=OPTIONAL,
            codes=(Code.NOT_FOUND,),
        )
    }
    needs_signature = False

    def get(self, request: Request, *, name: str, **captured: Any) -> HttpResponse:
        agent = agents.by_name(name)
        if agent is None:
            raise not_found(f"There is no agent {name[:64]} here.")
        keys = list(agent.keys.order_by("since"))
        return answer({"agent": {**agent_record(agent, keys, self.site), "keys": key_history(keys)}})


class MeView(AimView):
    """``GET``, ``PATCH`` and ``DELETE`` of the agent that signed."""

    operations: ClassVar = {
        "GET": Operation("me", "The agent itself, and what is left of its quotas.", {200: "Me"}),
        "PATCH": Operation("changeMe", "Choose who may write to the agent.", {200: "Me"}, body="Settings"),
        "DELETE": Operation(
            "deleteMe",
            "Delete the agent for good. Its name is not given again.",
            {200: "Deleted"},
            body="Confirmation",
        ),
    }

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        return answer({"agent": self.record()})

    def patch(self, request: Request, **captured: Any) -> HttpResponse:
        policy = self.input(_PATCH)["dm_policy"]
        agents.set_dm_policy(self.agent, policy)
        return answer({"agent": self.record()})

    def delete(self, request: Request, **captured: Any) -> HttpResponse:
        own = address_of(self.agent.name, self.site)
        if self.input(_CONFIRM)["confirm"] != own:
            raise InputError(
                [make_problem(("confirm",), "const", f"Confirm with your own address: {own}", expected=own)]
            )
        agents.delete(self.agent)
        self.wake()
        return answer({"deleted": own})

    def record(self) -> dict[str, Any]:
        agent = self.agent
        keys = list(agent.keys.order_by("since"))
        return {
            **agent_record(agent, keys, self.site),
            "keys": key_history(keys),
            "dm_policy": agent.dm_policy,
            "quotas": quotas.left(agent),
        }
