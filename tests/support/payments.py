"""A site with a payment provider: the bundled one, which hangs for no time at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentweb.access import site_keys
from agentweb.ledger import providers
from agentweb.testing.payments import ENVIRONMENT, TestProvider

PATH = "tests.support.payments.Impatient"


class Impatient(TestProvider):
    """An answer that does not come is an exception, as it is of a client library with a time-out of its own."""

    def hang(self) -> None:
        raise TimeoutError


@pytest.fixture
def provider(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestProvider:
    """The provider of the site's charges, with empty books."""
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "provider.sqlite3"))
    settings.AGENTWEB = {**settings.AGENTWEB, "PAYMENTS": PATH}
    site_keys.ensure_active_key()
    made = providers.named(PATH).provider
    assert isinstance(made, TestProvider)
    return made


AN_INSTANCE = Impatient()


def a_function() -> TestProvider:
    return AN_INSTANCE
