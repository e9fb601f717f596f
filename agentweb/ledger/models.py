"""Rows of money: the receipt chain and its head. Amounts are minor units of the currency."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q


class ReceiptHead(models.Model):
    """The end of one site's receipt chain; its row lock is the last lock of every transaction with a receipt."""

    site = models.CharField(max_length=255, primary_key=True)
    seq = models.BigIntegerField(default=0)
    hash = models.CharField(max_length=71, blank=True, help_text="'sha256:' and hex of the last receipt.")

    def __str__(self) -> str:
        return f"{self.site} {self.seq}"


class Receipt(models.Model):
    """A signed, chained receipt. ``document`` is the canonical JSON that was signed and is served."""

    class Kind(models.TextChoices):
        CHARGE = "charge"
        REFUND = "refund"

    id = models.CharField(max_length=25, primary_key=True)
    site = models.CharField(max_length=255)
    seq = models.BigIntegerField()
    kind = models.CharField(max_length=6, choices=Kind.choices)
    hash = models.CharField(max_length=71)
    issued_at = models.DateTimeField()
    action = models.CharField(max_length=100)
    request_id = models.CharField(max_length=25, db_index=True)
    agent = models.CharField(max_length=64, db_index=True)
    grant = models.CharField(max_length=25, db_index=True)
    root = models.CharField(max_length=25, db_index=True)
    grants = models.JSONField(default=list, help_text="Ids of the grants that paid, the agent's own first.")
    item = models.CharField(max_length=200)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    refunded = models.BigIntegerField(default=0)
    metadata = models.JSONField(
        default=dict, blank=True, help_text="The site's own notes; not in the document."
    )
    refund_of = models.CharField(max_length=25, blank=True, db_index=True)
    document = models.TextField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["site", "seq"], name="agentweb_receipt_seq"),
            models.CheckConstraint(
                condition=Q(refunded__gte=0) & Q(refunded__lte=F("amount")),
                name="agentweb_receipt_not_over_refunded",
            ),
        ]

    def __str__(self) -> str:
        return self.id


class ReceiptParty(models.Model):
    """Who may read a receipt: every key that holds or issued a grant of its chain, and a session's handle."""

    id = models.BigAutoField(primary_key=True)
    receipt = models.ForeignKey(Receipt, on_delete=models.CASCADE, related_name="parties")
    party = models.CharField(max_length=64)
    seq = models.BigIntegerField()

    class Meta:
        verbose_name_plural = "receipt parties"
        constraints: ClassVar = [
            # Not (party, seq): numbers begin anew for every site, and the site's key is a party everywhere.
            models.UniqueConstraint(fields=["receipt", "party"], name="agentweb_receipt_party"),
        ]
        indexes: ClassVar = [models.Index(fields=["party", "seq"], name="agentweb_receipt_of_party")]

    def __str__(self) -> str:
        return self.party


class Agreement(models.Model):
    """A price that the site has promised to one buyer, for one purchase. ``document`` is the canonical signed JSON.

    ``agent`` is the buyer's key or session, ``root`` the first grant it buys under, ``price`` minor units for all of
    the terms. ``receipt`` is that of the charge that used it up; the UPDATE that sets it decides.
    """

    id = models.CharField(max_length=25, primary_key=True, help_text="ag_ and 22 characters.")
    site = models.CharField(max_length=255)
    agent = models.CharField(max_length=64)
    root = models.CharField(max_length=25, db_index=True)
    terms = models.TextField(help_text="Canonical JSON.")
    price = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    receipt = models.CharField(max_length=25, null=True, blank=True, unique=True)
    document = models.TextField(editable=False)

    class Meta:
        indexes: ClassVar = [
            models.Index(
                fields=["agent", "root", "-created_at"],
                condition=Q(receipt=None),
                name="agentweb_agreements_open",
            ),
        ]

    def __str__(self) -> str:
        return self.id
