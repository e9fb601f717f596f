"""What docs/how-to/administer.md says of permissions and of an admin of one's own is so."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.admin import AdminSite
from django.contrib.auth.models import Permission

from agentweb.access.models import Grant
from agentweb.admin import PAGES
from tests.docs.pages import DOCS, blocks

PAGE = "how-to/administer.md"


@pytest.mark.django_db
def test_the_permissions_that_it_names_exist() -> None:
    named = re.findall(r"`agentweb\.([a-z_]+)(…?)`", (DOCS / PAGE).read_text(encoding="utf-8"))
    known = set(
        Permission.objects.filter(content_type__app_label="agentweb").values_list("codename", flat=True)
    )
    assert len(named) == 14
    for name, open_end in named:
        assert any(each.startswith(name) for each in known) if open_end else name in known, name


def test_the_admin_of_ones_own_has_every_page() -> None:
    [snippet] = blocks(PAGE, "python")
    names: dict[str, Any] = {}
    exec(snippet.text, names)  # noqa: S102 - the page's own words
    site = names["backstage"]
    assert isinstance(site, AdminSite)
    assert all(site.is_registered(model) for model in PAGES)
    assert site.get_model_admin(Grant).admin_site is site
