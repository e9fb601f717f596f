from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agentweb.client.command_line import main
from agentweb.client.keystore import KeyStore
from agentweb.wire.grants import Mandate, new_grant
from tests.client.conftest import AGENT, PERSON
from tests.client.site import Site


@pytest.fixture
def run(
    tmp_path: Path, site: Site, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """(exit code, standard output, standard error) of a command of an agent that may spend at the site."""
    store, now = tmp_path / "keys.json", int(time.time())
    KeyStore(store, key=AGENT).add_grant(
        new_grant(
            issuer=PERSON,
            subject=AGENT.public,
            audience=site.authority,
            scopes=["*"],
            not_before=now - 60,
            expires=now + 3_600,
            mandate=Mandate("USD", 100_00, 100_00),
        )
    )

    def running(*arguments: str) -> tuple[int, str, str]:
        code = main(["--key-store", str(store), *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return running
