"""A nonce is accepted once, whoever races for it."""

from __future__ import annotations

import pytest

from agentweb.access import nonces
from agentweb.access.models import Nonce
from agentweb.wire.errors import AuthenticationError


@pytest.mark.django_db
def test_a_used_nonce_is_refused_inside_a_transaction_that_goes_on() -> None:
    nonces.burn("k", "n" * 22, 0)
    with pytest.raises(AuthenticationError) as caught:
        nonces.burn("k", "n" * 22, 0)
    assert (caught.value.code, caught.value.status, caught.value.retry_after) == (
        "request_replayed",
        401,
        None,
    )
    nonces.burn("k", "m" * 22, 0)
    assert Nonce.objects.count() == 2
