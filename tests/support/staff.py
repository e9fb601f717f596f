"""Staff of the test site, and what they see in the admin."""

from __future__ import annotations

import html
import re
from typing import Any

from django.contrib.admin.utils import quote
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

_TAG = re.compile(r"<(script|style|svg)\b.*?</\1>|<[^>]*>", re.DOTALL)


def boss() -> User:
    """The superuser."""
    return User.objects.filter(username="boss").first() or User.objects.create_superuser("boss")


def staff(*codenames: str, name: str = "clerk") -> User:
    """A member of staff with these permissions of agentweb (or of ``app.codename``) and no other."""
    user = User.objects.create_user(name, is_staff=True)
    for each in codenames:
        app, _, codename = each.rpartition(".")
        user.user_permissions.add(
            Permission.objects.get(codename=codename, content_type__app_label=app or "agentweb")
        )
    return user


def browser(user: User, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def page(model: str, what: str = "changelist", *args: Any, site: str = "admin") -> str:
    """The address of a page: ``page("grant", "change", "gr_…")``."""
    quoted = [quote(str(each)) for each in args]
    return reverse(f"{site}:agentweb_{model}_{what}", args=quoted, current_app=site)


def text_of(response: Any) -> str:
    """What a person reads on a page: no tags, blanks as one."""
    return " ".join(html.unescape(_TAG.sub(" ", response.content.decode())).split())


def errors_of(response: Any) -> dict[str, list[str]]:
    """The errors of the form on a page, by field; ``__all__`` for those of the whole form."""
    return dict(response.context["form"].errors)
