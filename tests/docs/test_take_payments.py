"""What docs/how-to/take-payments.md and give-refunds.md show works as they say."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import shutil
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentweb.ledger import providers
from agentweb.ledger.providers import Named, RefundOrder, State
from agentweb.testing import payments
from tests.docs.pages import DOCS, file
from tests.docs.running import running
from tests.docs.tutorial import Site
from tests.support.charges import charge_order


class Api:
    """A provider as the page thinks of one."""

    def __init__(self) -> None:
        self.charges: dict[str, dict[str, Any]] = {}
        self.moved = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        sent = json.loads(request.content) if request.content else {}
        _, _, kind, *rest = request.url.path.split("/")
        if kind == "refunds":
            return httpx.Response(200, json={"id": "re_1", "status": "succeeded"})
        ident = rest[0] if rest else sent["id"]
        if request.method == "PUT":
            dead = {"id": "ch_0", "status": "cancelled", "reason": "Cancelled."}
            return httpx.Response(200, json=self.charges.setdefault(ident, dead))
        if request.method == "POST":
            assert request.headers["Idempotency-Key"] == ident
            status = "failed" if sent["text"] == "poor" else "succeeded"
            made = {"id": "ch_1", "status": status, "reason": "No money." if status == "failed" else ""}
            self.charges.setdefault(ident, made)
        if ident not in self.charges:
            return httpx.Response(404)
        return (
            httpx.Response(500)
            if sent.get("text") == "broken"
            else httpx.Response(200, json=self.charges[ident])
        )


def test_the_provider_of_the_page_answers_what_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    with running("how-to/take-payments.md") as page:
        by = Named("page", page.Provider(httpx.MockTransport(Api())))
        assert providers.find(by, "rc_1").state is State.ABSENT
        for _ in range(2):
            taken = providers.charge(by, charge_order("rc_1"))
            assert (taken.state, taken.reference) == (State.CAPTURED, "ch_1")
        assert providers.find(by, "rc_1").state is State.CAPTURED
        assert providers.cancel(by, "rc_1").state is State.CAPTURED
        declined = providers.charge(by, charge_order("rc_2", "poor"))
        assert (declined.state, declined.reason) == (State.DECLINED, "No money.")
        assert providers.cancel(by, "rc_3").state is State.DECLINED
        assert providers.charge(by, charge_order("rc_3")).state is State.DECLINED, "it is dead"
        assert providers.charge(by, charge_order("rc_4", "broken")).state is State.UNKNOWN
        refund = RefundOrder(
            id="rf_1", charge_id="rc_1", charge_reference="ch_1", amount=500, currency="USD", reason="Cold."
        )
        assert providers.refund(by, refund).state is State.REFUNDED
        monkeypatch.setenv("PAY_SECRET", "s")
        body = b'{"id": "rc_1"}'
        signature = hmac.new(b"s", body, hashlib.sha256).hexdigest()
        assert by.provider.read_event({"pay-signature": signature}, body) == "rc_1"
        with pytest.raises(PermissionError):
            by.provider.read_event({"pay-signature": "0"}, body)


def test_the_tests_of_the_page_pass(shop: Site, tmp_path: Path) -> None:
    copy = Site(tmp_path / "teashop", port=shop.port)
    shutil.copytree(shop.folder, copy.folder, ignore=shutil.ignore_patterns("*.sqlite3*"))
    copy.write("shop/test_payments.py", file("how-to/take-payments.md", "shop/test_payments.py"))
    with (copy.folder / "teashop" / "settings.py").open("a") as settings:
        settings.write('\nAGENTWEB["PAYMENTS"] = "agentweb.testing.payments.TestProvider"\n')
    # DEBUG is off in a test run, and the provider for tests is nothing to warn of there.
    books = {"AGENTWEB_TEST_PAYMENTS": str(tmp_path / "books.sqlite3")}
    assert "W045" not in copy.run("python manage.py test shop.test_payments 2>&1", **books)


def test_the_table_of_the_page_is_that_of_the_provider() -> None:
    text = (DOCS / "how-to/take-payments.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `([a-z-]+)` \| `(\d\d)` \|", text, re.MULTILINE)
    assert {int(end): word for word, end in told} == payments._BY_AMOUNT
    assert {word for word, _ in told} == set(payments._BY_WORD.values())
    for name in ("script", "settle", "event", "charges", "refunds", "calls", "taken", "clear"):
        assert callable(getattr(payments.TestProvider, name))
        assert f"`{name}(" in text


def test_the_policy_of_the_page_decides_as_it_says() -> None:
    with running("how-to/give-refunds.md") as page:
        now = int(datetime.now(UTC).timestamp())
        new = {"issued_at": now, "currency": "USD", "item": "Tea"}
        assert page.policy(new, Decimal(20), None) == "approve"
        assert page.policy(new, Decimal("20.01"), None) == "pending"
        assert page.policy({**new, "issued_at": now - 90_000}, Decimal(1), None) == "pending"
        assert page.policy({**new, "item": "Gift card 50", "issued_at": 0}, Decimal(1), None) == "refuse"
