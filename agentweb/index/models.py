"""Rows of the index: the sites whose manifests are kept, their actions and flows, and which of them has which term."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

SITE_LENGTH = 262
"""``host[:port]``: 253 characters of a name, a colon and a port, and room for an IPv6 address."""
NAME_LENGTH = 200
SUMMARY_LENGTH = 2_000
ETAG_LENGTH = 200
VERSION_LENGTH = 40
CODE_LENGTH = 64
MESSAGE_LENGTH = 500


class IndexedSite(models.Model):
    """One site of others. ``url`` is the address of its manifest, ``manifest`` the text as the site sent it, ``sha256``
    (hex) and ``etag`` what it is known by; empty while none was read.

    ``fetched_at`` is when that text came, ``confirmed_at`` when the site last said that it is still the one. The next
    look is due at ``due_at``. ``code``, ``reason`` and ``message`` are of the last look that failed, ``failures`` how
    many failed since one did not. ``name`` and ``summary`` are what the site says of itself by AWP, ``version`` that of
    the terms its entries were indexed with.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        INDEXED = "indexed", _("indexed")
        FAILED = "failed", _("failed")
        BLOCKED = "blocked", _("blocked")

    id = models.BigAutoField(primary_key=True)
    site = models.CharField(_("site"), max_length=SITE_LENGTH, unique=True)
    url = models.CharField(_("manifest"), max_length=SITE_LENGTH + 50)
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.WAITING)
    name = models.CharField(_("name"), max_length=NAME_LENGTH, blank=True)
    summary = models.CharField(max_length=SUMMARY_LENGTH, blank=True)
    manifest = models.TextField(blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    etag = models.CharField(max_length=ETAG_LENGTH, blank=True)
    version = models.CharField(max_length=VERSION_LENGTH, blank=True)
    added_at = models.DateTimeField(_("named at"))
    fetched_at = models.DateTimeField(_("read at"), null=True)
    confirmed_at = models.DateTimeField(_("confirmed at"), null=True)
    due_at = models.DateTimeField(_("next look"))
    leased_until = models.DateTimeField(null=True, editable=False)
    failures = models.PositiveIntegerField(default=0)
    code = models.CharField(max_length=CODE_LENGTH, blank=True)
    reason = models.CharField(max_length=CODE_LENGTH, blank=True)
    message = models.CharField(max_length=MESSAGE_LENGTH, blank=True)

    class Meta:
        verbose_name = _("site in the index")
        verbose_name_plural = _("sites in the index")
        indexes: ClassVar = [models.Index(fields=["due_at"], name="agentweb_index_due")]

    def __str__(self) -> str:
        return self.site


class IndexedEntry(models.Model):
    """An action or flow of a site. Its key is a number made of site, kind and name, so that it is the same in every
    database; ``place`` is where it stands among those of its site, by name. ``amount`` is in minor units.

    No row has a foreign key: a site's are deleted with ``store.forget``.
    """

    id = models.BigIntegerField(primary_key=True)
    site = models.BigIntegerField()
    place = models.PositiveIntegerField()
    kind = models.CharField(max_length=6)
    name = models.CharField(max_length=100)
    description = models.CharField(max_length=500, blank=True)
    effect = models.CharField(max_length=6)
    scope = models.CharField(max_length=100, null=True)  # noqa: DJ001 - none is not an empty one
    currency = models.CharField(max_length=3, blank=True)
    amount = models.BigIntegerField(null=True)
    cost_field = models.CharField(max_length=500, blank=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["site", "place"], name="agentweb_index_entries")]

    def __str__(self) -> str:
        return self.name


class IndexedPosting(models.Model):
    """The entry (its key) has the term, with this impact (``client.ranking``)."""

    pk = models.CompositePrimaryKey("entry", "term")
    entry = models.BigIntegerField()
    term = models.BigIntegerField()
    impact = models.PositiveSmallIntegerField()

    class Meta:
        indexes: ClassVar = [
            # All that a query reads: the postings of a term, the weightiest first.
            models.Index(fields=["term", "-impact", "entry"], name="agentweb_index_postings"),
        ]

    def __str__(self) -> str:
        return f"{self.entry}: {self.term}"


class IndexedTerm(models.Model):
    """How many entries have the term. Each has the term of nothing, ``postings.keys.EVERY``."""

    term = models.BigIntegerField(primary_key=True)
    entries = models.IntegerField()

    def __str__(self) -> str:
        return str(self.term)
