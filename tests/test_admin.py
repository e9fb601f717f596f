"""The front door of the admin: what it registers, for which admins, and what a site without one is spared."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.test import Client
from django.urls import include, path

from agentweb.access import grants, site_keys
from agentweb.access.models import Grant, Revocation
from agentweb.admin import PAGES, register
from agentweb.wire.signing import SigningKey
from tests.support.staff import boss, browser, page, text_of

ROOT = Path(__file__).resolve().parents[1]
OTHER = AdminSite(name="backstage")
register(OTHER)
OTHER.register(User, UserAdmin)

urlpatterns = [path("backstage/", OTHER.urls), path("", include("agentweb.urls"))]


def test_every_model_has_its_page_or_a_reason_for_none() -> None:
    # Counters, heads and locks of the machinery; mandates and parties are shown with grants and receipts; what a person
    # has open in their browser is nobody else's business, and a program that waits for a person is that person's to
    # decide about; it is a session then.
    without = {"Nonce", "Bucket", "Mandate", "ReceiptHead", "ReceiptParty", "RevocationHead"}
    without |= {"OpenPage", "BrowserCall", "Pairing"}
    # Shown with the agent that they are about, or the machinery of the log.
    without |= {"Account", "AgentKey", "Contact", "Event", "LogHead", "UsedChallenge"}
    # Shown with its page; what was counted once is not counted again.
    without |= {"ContentPart", "CountedText"}
    # The index of search, which is made of the content.
    without |= {"SearchPosting", "SearchTerm", "SearchedPage"}
    # Shown with their site, and the index of those.
    without |= {"IndexedEntry", "IndexedPosting", "IndexedTerm"}
    models = {model.__name__ for model in apps.get_app_config("agentweb").get_models()}
    assert {model.__name__ for model in PAGES} == models - without
    assert all(admin.site.is_registered(model) for model in PAGES)


def test_registering_twice_changes_nothing() -> None:
    before = dict(OTHER._registry)
    register(OTHER)
    assert OTHER._registry == before


def test_the_checks_of_the_admin_have_nothing_to_say() -> None:
    assert [found for found in run_checks(tags=["admin"]) if found.id and found.id.startswith("admin.")] == []


@pytest.mark.django_db
def test_every_page_is_there_for_a_superuser(client: Client) -> None:
    site_keys.ensure_active_key()
    client = browser(boss())
    assert "Agents" in text_of(client.get("/admin/"))
    assert client.get("/admin/agentweb/").status_code == 200
    for model in PAGES:
        assert client.get(page(model.__name__.lower())).status_code == 200
        assert client.get(page(model.__name__.lower(), "change", "1"), follow=True).status_code == 200


ODD = ["\0", "x", "9" * 40, "\ud800"]
NAMES = [
    "q",
    "p",
    "o",
    "e",
    "all",
    "state",
    "state__exact",
    "kind__exact",
    "person",
    "before",
    "when",
    "result",
]


@pytest.mark.django_db
@pytest.mark.parametrize("value", ODD)
def test_no_query_string_breaks_a_list(client: Client, value: str) -> None:
    client = browser(boss())
    for model in PAGES:
        for name in [*NAMES, "action_name", "protocol_name", "user__id__exact", "grant__id", "no_such_field"]:
            query = f"?{name}={quote(value, errors='surrogatepass')}"
            answer = client.get(page(model.__name__.lower()) + query)
            assert answer.status_code in {200, 302, 400}, (model, query)


@pytest.mark.django_db
@pytest.mark.urls("tests.test_admin")
def test_another_admin_site_has_the_same_pages_and_stays_among_its_own() -> None:
    site_keys.ensure_active_key()
    client = browser(boss())
    person = User.objects.create_user("ann")
    answers: list[Any] = [client.get(page(model.__name__.lower(), site="backstage")) for model in PAGES]
    sent = {
        "intent": "A" * 22,
        "subject": SigningKey.generate().public,
        "user": person.pk,
        "scopes": ["notes:write"],
        "life": "3600",
        "delegate": "0",
    }
    answers.append(client.get(page("grant", "add", site="backstage")))
    answers.append(client.post(page("grant", "add", site="backstage"), sent))
    ident = Grant.objects.get().pk
    answers.append(client.get(page("grant", "change", ident, site="backstage")))
    answers.append(client.get(page("grant", "revoke", ident, site="backstage")))
    answers.append(client.get(page("receipt", "chain", site="backstage")))
    answers.append(client.post(page("grant", "revoke", ident, site="backstage"), follow=True))
    assert {answer.status_code for answer in answers} == {200}
    assert all("/admin/agentweb" not in answer.content.decode() for answer in answers)
    assert Revocation.objects.get().ident == ident


@pytest.mark.django_db
def test_links_to_models_that_are_in_no_admin_are_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    site_keys.ensure_active_key()
    person = User.objects.create_user("ann")
    grants.issue(
        subject=SigningKey.generate().public, scopes=["x"], expires_in=60, site="shop.example", user=person
    )
    monkeypatch.setattr("agentweb.access.admin.showing.reverse", _no_such_page)
    assert "ann" in text_of(browser(boss()).get(page("grant", "change", Grant.objects.get().pk)))


def _no_such_page(*args: Any, **kwargs: Any) -> str:
    from django.urls import NoReverseMatch

    raise NoReverseMatch


_WITHOUT = """
import sys
from django.conf import settings
settings.configure(
    SECRET_KEY="x" * 50, USE_TZ=True, ROOT_URLCONF="agentweb.urls", DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "agentweb"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    AGENTWEB={"ORIGIN": "https://shop.example"},
)
import django
django.setup()
from django.core.management import call_command
call_command("check")
call_command("migrate", verbosity=0)
loaded = sorted(name for name in sys.modules if name.startswith("agentweb") and ".admin" in name)
assert not loaded, loaded
"""

_MEMBERS = """\
import uuid
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models

class Members(models.Manager):
    pass

class Member(AbstractBaseUser):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    email = models.CharField(max_length=100, unique=True)
    USERNAME_FIELD = "email"
    objects = Members()
    is_staff = True
    is_superuser = True
    class Meta:
        app_label = "people"
    def has_perm(self, name, obj=None):
        return True
    def has_module_perms(self, label):
        return True
    def __str__(self):
        return self.email
"""

_OWN_PEOPLE = """
import sys, types
from django.conf import settings
settings.configure(
    SECRET_KEY="x" * 50, USE_TZ=True, ROOT_URLCONF="urls", DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=[
        "django.contrib.admin", "django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions",
        "django.contrib.messages", "agentweb", "people"],
    AUTH_USER_MODEL="people.Member",
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {
        "context_processors": ["django.template.context_processors.request",
        "django.contrib.auth.context_processors.auth", "django.contrib.messages.context_processors.messages"]}}],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    ALLOWED_HOSTS=["*"], STATIC_URL="/static/",
    AGENTWEB={"ORIGIN": "https://shop.example"},
)
import django
django.setup()
from people.models import Member
urls = types.ModuleType("urls"); sys.modules["urls"] = urls
from django.contrib import admin
from django.urls import include, path
urls.urlpatterns = [path("admin/", admin.site.urls), path("", include("agentweb.urls"))]
from django.core.management import call_command
call_command("check")
call_command("migrate", verbosity=0, run_syncdb=True)
from django.test import Client
from django.test.utils import setup_test_environment
setup_test_environment()
from django.contrib.admin.utils import quote
from agentweb.access import site_keys
from agentweb.access.models import Grant
from agentweb.wire.signing import SigningKey
site_keys.ensure_active_key()
member = Member.objects.create(email="ann@shop.example")
client = Client()
client.force_login(member)
sent = {"intent": "A" * 22, "subject": SigningKey.generate().public, "user": "ann@shop.example",
        "patterns": "x:y", "life": "3600", "delegate": "0"}
answer = client.post("/admin/agentweb/grant/add/", sent)
assert "v1." in answer.content.decode(), answer.content.decode()
grant = Grant.objects.get()
assert grant.user == member
for query in ("?q=ann", f"?person={member.pk}", "?person=x", "?q=nobody"):
    answer = client.get("/admin/agentweb/grant/" + query, follow=True)
    assert answer.status_code == 200
assert client.get(f"/admin/agentweb/grant/?person={member.pk}").context["cl"].result_list == [grant]
page = f"/admin/agentweb/grant/{quote(grant.pk)}/change/"
assert "ann@shop.example" in client.get(page).content.decode()
for model in ("session", "principalkey", "approval", "auditentry"):
    assert client.get(f"/admin/agentweb/{model}/?q=ann").status_code == 200
"""


@pytest.mark.parametrize(
    "script", [_WITHOUT, _OWN_PEOPLE], ids=["without the admin", "a user model of one's own"]
)
def test_a_site_of_another_make(script: str, tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "__init__.py").touch()
    (tmp_path / "people" / "models.py").write_text(_MEMBERS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
