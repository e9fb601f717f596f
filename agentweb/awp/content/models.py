"""Rows of the site's content for agents: the pages as Markdown in parts, and the runs that made them.

Whatever is served of a page stands here, counted: a request reads one row and converts nothing.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

SLUG_LENGTH = 120
LANGUAGE_LENGTH = 20
PATH_LENGTH = 2_000
TITLE_LENGTH = 300
SECTION_LENGTH = 60


class ContentPage(models.Model):
    """One page of the site in one language, as everybody may read it.

    ``path`` is that of its URL under the origin, percent-encoded, with its query and the prefix of a site that is
    mounted under one. ``listed_as`` is the slug of where the site lists it, another one when it redirects from there.
    ``source_etag`` is the ETag that the site gives it and ``source_digest`` that of what it was
    made from, both bound to how it was made: while one of them stays, nothing is converted again. ``digest`` is that
    of what came of it (SHA-256, hex). ``tokens`` are those of all parts together, ``parts`` how many there are.

    ``updated_at`` is when the content last changed, ``confirmed_at`` when a run last saw that it is still so.
    ``seen_in`` is the key of the last run that came by, also when it could not confirm the page.
    """

    class Source(models.TextChoices):
        DECLARED = "declared", "Its declaration's own text"
        VIEW = "view", "A registered page"
        SITE_MAP = "sitemap", "The site's site map"

    id = models.BigAutoField(primary_key=True)
    slug = models.CharField(max_length=SLUG_LENGTH)
    language = models.CharField(max_length=LANGUAGE_LENGTH)
    listed_as = models.CharField(max_length=SLUG_LENGTH, editable=False)
    path = models.CharField(max_length=PATH_LENGTH)
    title = models.CharField(max_length=TITLE_LENGTH)
    description = models.TextField(blank=True)
    section = models.CharField(max_length=SECTION_LENGTH)
    source = models.CharField(max_length=8, choices=Source.choices)
    source_etag = models.CharField(max_length=64, blank=True, editable=False)
    source_digest = models.CharField(max_length=64, editable=False)
    digest = models.CharField(max_length=64, editable=False)
    tokens = models.PositiveIntegerField()
    parts = models.PositiveIntegerField()
    updated_at = models.DateTimeField()
    confirmed_at = models.DateTimeField()
    seen_in = models.BigIntegerField(editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["slug", "language"], name="agentweb_content_page_once"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["section", "path"], name="agentweb_content_sections"),
            models.Index(fields=["seen_in"], name="agentweb_content_seen"),
            models.Index(fields=["listed_as"], name="agentweb_content_listed"),
        ]

    def __str__(self) -> str:
        return f"{self.path} ({self.language})"


class ContentPart(models.Model):
    """A part of a page's Markdown, from 1 on; all together in order are the whole. ``digest`` is SHA-256 in hex.
    ``before`` and ``after`` stand around it when it is served (``parts.Part``)."""

    id = models.BigAutoField(primary_key=True)
    # First in the constraint's index; one of its own would only make each insert dearer.
    page = models.ForeignKey(
        ContentPage, on_delete=models.CASCADE, related_name="content_parts", db_index=False
    )
    number = models.PositiveIntegerField()
    text = models.TextField()
    tokens = models.PositiveIntegerField()
    digest = models.CharField(max_length=64, editable=False)
    before = models.TextField(blank=True, editable=False)
    after = models.TextField(blank=True, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["page", "number"], name="agentweb_content_part_once"),
        ]

    def __str__(self) -> str:
        return f"{self.page_id} part {self.number}"


class ContentRun(models.Model):
    """One look at all pages of the site.

    One at a time ``is_running``, and it is heard of until ``leased_until``: one that was killed is then over.
    ``is_complete`` says that it confirmed every page that it found. ``changes`` counts the pages that it wrote or
    removed so far. ``counts`` is a JSON object of numbers by what became of the pages; ``reports`` a JSON list of the
    pages that were left out or failed, ``{"path", "language", "reason", "detail", "is_failure"}``, the first thousand.
    """

    id = models.BigAutoField(primary_key=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    is_running = models.BooleanField(default=True)
    leased_until = models.DateTimeField(editable=False)
    is_complete = models.BooleanField(default=False)
    changes = models.PositiveIntegerField(default=0)
    counts = models.TextField(default="{}", editable=False)
    reports = models.TextField(default="[]", editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["is_running"], condition=Q(is_running=True), name="agentweb_one_content_run"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["id"], condition=Q(is_complete=True), name="agentweb_content_complete"),
        ]

    def __str__(self) -> str:
        return f"{self.started_at:%Y-%m-%d %H:%M}"
