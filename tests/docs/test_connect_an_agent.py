"""What docs/how-to/connect-an-agent.md shows works against the tutorial's shop."""

from __future__ import annotations

import re
import secrets
import subprocess
import sys
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

from agentweb import conf
from agentweb.access import pairing
from agentweb.people.terms import LIVES
from tests.docs.pages import DOCS, file
from tests.docs.tutorial import Site

PAGE = "how-to/connect-an-agent.md"


class Person:
    """A person's browser: it keeps cookies, follows links and fills in forms."""

    def __init__(self, site: Site) -> None:
        self.origin = site.origin
        self.name = f"ann{secrets.token_hex(4)}"
        site.run(
            'python manage.py shell -c "from django.contrib.auth.models import User; '
            f"User.objects.create_superuser('{self.name}', password='tea')\""
        )
        self.browser: OpenerDirector = build_opener(HTTPCookieProcessor(CookieJar()))
        self.send(f"{self.origin}/admin/login/", username=self.name, password="tea", next="/admin/")

    def see(self, url: str) -> str:
        return str(self.browser.open(url, timeout=30).read().decode())

    def send(self, url: str, **form: Any) -> str:
        [token] = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', self.see(url))[:1]
        body = urlencode({"csrfmiddlewaretoken": token, **form}, doseq=True).encode()
        return str(self.browser.open(url, body, timeout=30).read().decode())


def started(shop: Site, tmp_path: Path) -> tuple[subprocess.Popen[str], str, str]:
    """The program of the page, running; the address that it shows and the code."""
    path = tmp_path / "connect.py"
    path.write_text(file(PAGE, "connect.py").replace("time.sleep(", "time.sleep(0.05 * "), encoding="utf-8")
    program = subprocess.Popen([sys.executable, str(path), shop.origin], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    address = program.stdout.readline().removeprefix("Open ").strip()
    code = program.stdout.readline().partition(": ")[2].strip()
    return program, address, code


def test_a_person_approves_and_the_program_buys(shop: Site, tmp_path: Path) -> None:
    person = Person(shop)
    program, address, code = started(shop, tmp_path)
    assert address == f"{shop.origin}/agent-access/connect?code={code}"
    seen = person.see(address)
    assert "Tea helper" in seen
    assert "30.00 USD" in seen
    scopes = re.findall(r'name="scopes" value="([^"]+)"', seen)
    assert scopes == ["tea:buy"]
    terms = {"spends": "1", "per_tx": "7", "total": "7", "life": "3600", "scopes": scopes}
    assert "is connected" in person.send(address, code=code, decision="approve", **terms)
    out, _ = program.communicate(timeout=60)
    allowed, bought, ended = out.splitlines()
    assert allowed.startswith(f"May do ['tea:buy'] for {person.name} and spend")
    assert "'total': '7.00'" in allowed
    assert "'receipt': 'rc_" in bought
    assert ended == "{'ended': True}"
    assert program.returncode == 0
    assert "No agent acts for you" in person.see(f"{shop.origin}/agent-access/")


def test_a_person_denies_and_the_program_stops(shop: Site, tmp_path: Path) -> None:
    person = Person(shop)
    program, address, code = started(shop, tmp_path)
    assert "Denied" in person.send(address, code=code, decision="deny")
    program.communicate(timeout=60)
    assert program.returncode == 1


def test_the_numbers_and_names_of_the_page_are_those_of_the_code() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    for name in re.findall(r"`([A-Z]+_[A-Z]+)`", text):
        assert name == "LOGIN_URL" or name in conf.SETTINGS
    assert (pairing.CODE_LENGTH, len(pairing.ALPHABET)) == (8, 19)
    assert [seconds for seconds, _ in LIVES] == [3_600, 86_400, 7 * 86_400, 30 * 86_400]
    templates = {
        path.name for path in (DOCS.parent / "agentweb/templates/agentweb/people").glob("[a-z]*.html")
    }
    assert set(re.findall(r"`(?:agentweb/people/)?(\w+\.html)`", text)) <= templates
