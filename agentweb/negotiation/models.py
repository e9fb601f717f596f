"""Rows of bargaining. Amounts are minor units of the currency."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q


class Negotiation(models.Model):
    """One buyer, one set of terms, and how far they have come.

    ::

        open ──the site answers──> countered ──offer──> open …
         │                          │  └─accept─> accepted, and there is an agreement
         ├──────> accepted          ├────reject─> rejected
         └──────> rejected          └──too late─> expired

    ``open`` says that the buyer's last offer waits for the site's word, ``countered`` that the site's price stands.
    Every arrow is one conditional UPDATE on state, round and end.
    """

    class State(models.TextChoices):
        OPEN = "open"
        COUNTERED = "countered"
        ACCEPTED = "accepted"
        REJECTED = "rejected"
        EXPIRED = "expired"

    id = models.CharField(max_length=25, primary_key=True, help_text="ng_ and 22 characters.")
    site = models.CharField(max_length=255)
    agent = models.CharField(max_length=64, db_index=True)
    root = models.CharField(max_length=25, db_index=True)
    terms = models.TextField(help_text="Canonical JSON.")
    terms_digest = models.CharField(max_length=71, editable=False, help_text="'sha256:' and hex.")
    currency = models.CharField(max_length=3)
    state = models.CharField(max_length=9, choices=State.choices, default=State.OPEN)
    round = models.PositiveSmallIntegerField(default=1)
    rounds = models.PositiveSmallIntegerField(help_text="How many there are at most.")
    first = models.BigIntegerField(help_text="What the buyer began with.")
    offered = models.BigIntegerField(help_text="What the buyer offered last.")
    offer_note = models.CharField(max_length=200, blank=True)
    asked = models.BigIntegerField(null=True, blank=True, help_text="What the site asked for last.")
    asked_note = models.CharField(max_length=200, blank=True)
    agreement = models.CharField(max_length=25, blank=True)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["site", "agent", "root", "terms_digest"],
                condition=Q(state__in=("open", "countered")),
                name="agentweb_one_open_negotiation",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id} ({self.state})"
