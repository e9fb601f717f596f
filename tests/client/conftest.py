from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentweb.client.agent import AgentClient
from agentweb.client.approvals.policy import ApprovalPolicy
from agentweb.client.keystore import KeyStore
from agentweb.wire.grants import Mandate, new_grant
from agentweb.wire.signing import SigningKey
from tests.client.site import Site, Time, running_site

PERSON = SigningKey.from_seed(hashlib.sha256(b"person").digest())
AGENT = SigningKey.from_seed(hashlib.sha256(b"agent").digest())


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as site:
        yield site


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def keystore(tmp_path: Path) -> KeyStore:
    return KeyStore(tmp_path / "agent.json", key=AGENT)


@pytest.fixture
def client(keystore: KeyStore, time: Time) -> Iterator[AgentClient]:
    # What is asked about is not sent; the tests of asking have a policy of their own.
    never = ApprovalPolicy.never_ask()
    with AgentClient(keystore, approval=never, clock=time, sleep=time.sleep, seconds=5.0) as client:
        yield client


@pytest.fixture
def grant(keystore: KeyStore, site: Site, time: Time) -> Callable[..., str]:
    """Add a grant of the site to the agent's store; returns its id."""

    def add(*scopes: str, spending: tuple[str, int, int] | None = None, **members: Any) -> str:
        document = new_grant(
            **{
                "issuer": PERSON,
                "subject": AGENT.public,
                "audience": site.authority,
                "scopes": scopes or ("*",),
                "not_before": int(time.now) - 100,
                "expires": int(time.now) + 86_400,
                "mandate": Mandate(*spending) if spending else None,
                **members,
            }
        )
        return keystore.add_grant(document).id

    return add
