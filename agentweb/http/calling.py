"""The same questions over the network, to see what stands before Django: proxies, TLS, another process's settings.

Through the client's own guarded transport: bounded in time and size, without cookies, following no redirect. What the
site writes for such a call, such as the bucket of the caller's address, it keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from agentweb.client.transport import Transport
from agentweb.http.probes import Answer
from agentweb.wire.http_signature import authority_of

LARGEST: Final = 50_000_000


class Calling:
    """``origin`` is scheme and host of what is called. Raises ValueError when it is no such thing.

    ``may_be_private``: whoever named the host vouches for it, so it may be one of their own network. ``seconds`` and
    ``max_bytes`` bound one answer, ``user_agent`` says who asks where a question does not.
    """

    def __init__(
        self,
        origin: str,
        *,
        user_agent: str,
        may_be_private: bool = True,
        seconds: float = 10.0,
        max_bytes: int = LARGEST,
    ) -> None:
        parts = urlsplit(origin)
        authority_of(origin)
        if parts.path not in {"", "/"} or parts.query or parts.fragment or parts.username is not None:
            raise ValueError("it must be scheme and host only")
        self._origin = origin.rstrip("/")
        self._user_agent = user_agent
        self._max_bytes = max_bytes
        allowed = [parts.hostname or ""] if may_be_private else []
        self._transport = Transport(allowed=allowed, seconds=seconds)

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """See ``Examined.ask``. Raises ClientError when no answer comes."""
        typed = {"Content-Type": "application/json"} if body else {}
        answer = self._transport.send(
            method,
            self._transport.wire_url(self._origin + path),
            headers={"User-Agent": self._user_agent, **typed, **headers},
            body=body,
            max_bytes=self._max_bytes,
        )
        cookie = answer.headers.get("set-cookie")
        return Answer(
            status=answer.status,
            headers={name: value for name, value in answer.headers.items() if name != "set-cookie"},
            body=answer.body,
            cookies=() if cookie is None else (cookie,),
        )
