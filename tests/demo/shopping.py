"""Agents that shop over real HTTP, and the desk that issues their grants."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx

from agentweb.wire.encoding import random_id
from agentweb.wire.grants import encode_chain
from agentweb.wire.http_signature import sign_request
from agentweb.wire.signing import SigningKey
from agentweb.wire.strict_json import dumps
from demo_project.story.browser import Browser

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING = ("cart:*", "checkout", "orders:*", "contact:send", "profile:write", "reviews:write")
READS = {"search_products", "product_detail", "cart", "order_status", "reviews_list"}


def demo_environment(database: str) -> dict[str, str]:
    """What a process of the demo on this database has in its environment."""
    return {
        "DJANGO_SETTINGS_MODULE": "demo_project.settings",
        "AGENTWEB_DEMO_DATABASE": database,
        "AGENTWEB_DEMO_SECRET_KEY": "only-for-tests-0123456789-0123456789-0123456789",
        "AGENTWEB_DEMO_DEBUG": "0",
    }


class Desk:
    """Calls functions of ``tests.demo.desk`` in a process of their own: ``desk.ask("stock", slug=...)``."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.demo.desk"],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, what: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": what, "with": arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the desk died of {what}"
        return json.loads(line)["answer"]

    def close(self) -> None:
        self._process.communicate(timeout=60)


class Shop:
    """A running shop and its desk."""

    def __init__(self, origin: str, desk: Desk) -> None:
        self.origin = origin
        self.desk = desk

    def agent(
        self,
        person: str | None = None,
        *,
        scopes: tuple[str, ...] = EVERYTHING,
        spending: str | None = "USD:500.00/1000.00",
        key: SigningKey | None = None,
    ) -> Shopper:
        """An agent with a grant; give ``key`` to let one agent act for several persons."""
        key = key or SigningKey.generate()
        site = urlsplit(self.origin).netloc
        chain = self.desk.ask(
            "issue", subject=key.public, scopes=list(scopes), site=site, user=person, spending=spending
        )
        return Shopper(self.origin, key, encode_chain(chain))

    def queries(self, path: str, *, name: str | None = None, token: str | None = None) -> tuple[int, int]:
        """(status, queries) of a page, for a person who is logged in or an agent with a token."""
        status, count = self.desk.ask("queries", origin=self.origin, path=path, name=name, token=token)
        return status, count

    def browser(self, person: str) -> Browser:
        """The browser of a person, or of the staff, who has logged in."""
        browser = Browser(self.origin)
        browser.log_in(person, self.desk.ask("password", name=person))
        return browser

    def helper(self, person: str, *scopes: str) -> Helper:
        """An agent with a session token for a person."""
        site = urlsplit(self.origin).netloc
        return Helper(self.origin, self.desk.ask("token", name=person, scopes=list(scopes), site=site))


class Helper:
    """One agent at the shop's pages."""

    def __init__(self, origin: str, token: str) -> None:
        self.token = token
        headers = {"Authorization": f"Bearer {token}"}
        self.http = httpx.Client(base_url=origin, trust_env=False, timeout=30, headers=headers)

    def sees(self, page: str) -> Any:
        """The state of a page, which must be there."""
        answer = self.http.get(f"{page}.json")
        assert answer.status_code == 200, answer.text
        return answer.json()["state"]

    def invokes(self, action: str, value: Any, **more: Any) -> tuple[int, Any]:
        answer = self.http.post("/__aim/invoke", json={"actionId": action, "input": value, **more})
        return answer.status_code, answer.json()


class Shopper:
    """One agent under one grant. Its calls answer (status, body)."""

    def __init__(self, origin: str, key: SigningKey, grant: str) -> None:
        self.origin = origin
        self.key = key
        self.grant = grant
        self.http = httpx.Client(base_url=origin, trust_env=False, timeout=30)

    def __call__(self, action: str, /, *, key: str | None = None, **given: Any) -> tuple[int, Any]:
        """``agent("add_to_cart", product_id="hojicha-100", quantity=2)``."""
        path = f"/agent/{action}"
        headers = {"Agent-Grant": self.grant}
        method, body = "GET", b""
        if action in READS:
            path += f"?{urlencode(given)}" if given else ""
        else:
            method, body = "POST", dumps(given)
            headers |= {"Content-Type": "application/json", "Idempotency-Key": key or random_id("key_")}
        headers |= sign_request(
            method=method,
            url=self.origin + path,
            body=body,
            key=self.key,
            headers=headers,
            created=int(time.time()),
        )
        answer = self.http.request(method, path, content=body, headers=headers)
        return answer.status_code, answer.json()

    def does(self, action: str, /, **given: Any) -> Any:
        """The result of a call that must be answered."""
        status, body = self(action, **given)
        assert status == 200, body
        return body

    def is_refused(self, action: str, /, **given: Any) -> dict[str, Any]:
        """The error of a call that must be refused, with its status."""
        status, body = self(action, **given)
        assert status >= 400, body
        return {"status": status, **body["error"]}

    def buys(self, product: str, quantity: int = 1) -> Any:
        """Cart and checkout in one; the order."""
        cart = self.does("add_to_cart", product_id=product, quantity=quantity)
        checkout = "checkout_jpy" if cart["currency"] == "JPY" else "checkout"
        return self.does(checkout, cart_id=cart["cart_id"], price=cart["total"])
