"""Agents that speak to the test site over HTTP, each request freshly signed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.test import Client

from agentweb.wire.aim import envelope, proof_of_work
from agentweb.wire.aim.authorization import sign_request
from agentweb.wire.aim.keys import public_of
from agentweb.wire.clock import now
from agentweb.wire.signing import SigningKey
from tests.aim import contract
from tests.aim.agents import SITE, signer_of


@dataclass
class Speaker:
    """A key that signs requests, whoever it is. ``shift`` seconds its clock is ahead."""

    name: str
    client: Client = field(default_factory=Client)
    shift: int = 0
    authority: str = SITE

    @property
    def signer(self) -> SigningKey:
        return signer_of(self.name)

    @property
    def key(self) -> str:
        return public_of(self.signer)

    @property
    def address(self) -> str:
        return f"{self.name}@{SITE}"

    def header(self, method: str, target: str, body: bytes = b"", **more: Any) -> str:
        ts = more.pop("ts", int(now()) + self.shift)
        return sign_request(self.signer, method, target, self.authority, body, ts=ts, **more)

    def ask(self, method: str, target: str, document: Any = None, **more: Any) -> HttpResponse:
        """The answer to a signed request; ``document`` is sent as JSON, bytes as they are."""
        body = document if isinstance(document, bytes) else b"" if document is None else encoded(document)
        return send(self.client, method, target, body, self.header(method, target, body, **more))

    def get(self, target: str, **more: Any) -> HttpResponse:
        return self.ask("GET", target, **more)

    def post(self, target: str, document: Any = None, **more: Any) -> HttpResponse:
        return self.ask("POST", target, document, **more)

    def challenge(self) -> dict[str, Any]:
        found: dict[str, Any] = send(self.client, "POST", "/v2/challenges").json()
        return found

    def registration(self, name: str | None = None, **members: Any) -> dict[str, Any]:
        """A body of a registration with a fresh challenge, solved."""
        given = self.challenge()
        solution = proof_of_work.solve(given["challenge"], self.key, given["difficulty"])
        return {
            "public_key": self.key,
            "name": name or self.name,
            "challenge": given["challenge"],
            "solution": solution,
            **members,
        }

    def register(self) -> dict[str, Any]:
        response = self.post("/v2/agents/register", self.registration())
        assert response.status_code == 201, response.content
        found: dict[str, Any] = response.json()
        return found

    def write(self, to: Speaker | str, body: Any = "hello", **members: Any) -> dict[str, Any]:
        address = to.address if isinstance(to, Speaker) else to
        return envelope.sign(envelope.compose(self.address, address, body, **members), self.signer)

    def send(self, to: Speaker | str, body: Any = "hello", **members: Any) -> HttpResponse:
        return self.post("/v2/messages", self.write(to, body, **members))


def registered(name: str, **more: Any) -> Speaker:
    speaker = Speaker(name, **more)
    speaker.register()
    return speaker


def encoded(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


def send(
    client: Client,
    method: str,
    target: str,
    body: bytes = b"",
    authorization: str | None = None,
    **headers: str,
) -> HttpResponse:
    """A request as it is."""
    path, _, query = target.partition("?")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if authorization is not None:
        named["Authorization"] = authorization
    answer: HttpResponse = client.generic(
        method,
        path,
        body,
        "application/json" if body else "",
        headers=named,
        QUERY_STRING=query,
    )
    contract.check(method, path, answer)
    return answer


def code(response: HttpResponse) -> tuple[int, str]:
    found: dict[str, Any] = json.loads(response.content)
    return response.status_code, found["error"]["code"]


def error(response: HttpResponse) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(response.content)["error"]
    return found
