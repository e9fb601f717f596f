"""How a key becomes an agent at a service: challenge, work, registration. Safe to repeat at any point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from agentweb.client.errors import SiteError
from agentweb.client.messenger.link import Link, refused_by_service
from agentweb.client.messenger.store import Identity, MessengerStore, Work
from agentweb.wire.aim.addresses import parse_address
from agentweb.wire.aim.keys import public_of
from agentweb.wire.aim.proof_of_work import ALGORITHM, is_challenge, solve
from agentweb.wire.errors import ClientError, Code
from agentweb.wire.signing import SigningKey

MAX_DIFFICULTY: Final = 26
"""Bits that we work for: a minute or two. A service that asks for more may be after our time."""
WORK_TOO_HARD: Final = "work_too_hard"

_ROUNDS: Final = 3
_MARGIN: Final = 5.0
_LONGEST: Final = 86_400.0
"""Seconds for which work that is done is kept at most."""

Progress = Callable[[int, int], None]
"""Told the attempts so far, and how many are needed on average."""


def register(
    link: Link,
    store: MessengerStore,
    key: SigningKey,
    name: str | None,
    *,
    clock: Callable[[], float],
    progress: Progress | None = None,
) -> Identity:
    """The agent of the key at the service, made when there is none.

    Raises SiteError for what the service refuses (``name_taken``, ``invalid_name``, ``key_already_registered`` …),
    ClientError ``work_too_hard`` and ``response_invalid``.
    """
    public = public_of(key)
    wish: dict[str, Any] = {"public_key": public} | ({"name": name} if name is not None else {})
    if store.identity(link.authority, public) is not None:
        try:
            return _keep(link, store, public, name, _ask(link, wish))
        except SiteError as error:
            # Without a challenge only a key that is known can register.
            if error.code not in {Code.INVALID_INPUT, Code.CHALLENGE_INVALID}:
                raise
    for round_ in range(_ROUNDS):
        work = store.work(link.authority, public)
        if work is None or work.expires - _MARGIN < clock():
            work = _work(link, public, clock, progress)
            store.keep_work(link.authority, public, work)
        try:
            answer = _ask(link, {**wish, "challenge": work.challenge, "solution": work.solution})
        except SiteError as error:
            is_spoiled = refused_by_service(
                error,
                Code.CHALLENGE_EXPIRED,
                Code.CHALLENGE_USED,
                Code.CHALLENGE_INVALID,
                Code.SOLUTION_INVALID,
            )
            if is_spoiled:
                store.keep_work(link.authority, public, None)
            if not is_spoiled or round_ == _ROUNDS - 1:
                raise
            continue
        store.keep_work(link.authority, public, None)
        return _keep(link, store, public, name, answer)
    raise AssertionError("The last round returns or raises.")


def _ask(link: Link, wish: dict[str, Any]) -> Any:
    return link.call("POST", link.service.register, body=wish)


def _work(link: Link, public: str, clock: Callable[[], float], progress: Progress | None) -> Work:
    given = link.call("POST", link.service.challenge, body={}, signed=False)
    try:
        challenge, difficulty, seconds = given["challenge"], given["difficulty"], given["expires_in"]
        is_one = (
            given["algorithm"] == ALGORITHM
            and is_challenge(challenge)
            and type(difficulty) is int
            and type(seconds) in {int, float}
            and seconds > 0
        )
        if not is_one:
            raise ValueError(challenge)
    except (KeyError, TypeError, ValueError):
        raise ClientError(Code.RESPONSE_INVALID, "The service gave a challenge that is none.") from None
    if not 0 <= difficulty <= MAX_DIFFICULTY:
        raise ClientError(
            WORK_TOO_HARD,
            f"The service asks for work of {difficulty} bits; this client does up to {MAX_DIFFICULTY}.",
        )
    ends = clock() + min(seconds, _LONGEST)
    expected = 2**difficulty

    def report(attempts: int) -> None:
        if progress is not None:
            progress(attempts, expected)

    solution = solve(challenge, public, difficulty, report)
    if progress is not None:
        progress(expected, expected)
    return Work(challenge, solution, ends)


def _keep(link: Link, store: MessengerStore, public: str, name: str | None, answer: Any) -> Identity:
    try:
        agent, cursor = answer["agent"], answer["cursor"]
        address = parse_address(agent["address"])
        is_ours = (
            agent["public_key"] == public
            and address.name == agent["name"]
            and address.authority == link.authority
            and (address.name == name if name is not None else True)
            and isinstance(cursor, str)
        )
        if not is_ours:
            raise ValueError(address)
    except (KeyError, TypeError, ValueError):
        raise ClientError(
            Code.RESPONSE_INVALID, "The service registered something else than it was asked to."
        ) from None
    return store.keep_identity(Identity(link.authority, link.origin, public, address.name, cursor))
