"""Rows of money that moves outside: payments at a provider, and refunds. Amounts are minor units of the currency."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from agentweb.ledger.models import Receipt


class Payment(models.Model):
    """A charge that a payment provider is asked for, from the reservation of its mandates to its receipt.

    ::

        pending ──> captured ──> done          its receipt stands in the log
           ├──────> declined                   by the provider
           └──────> cancelled                  nobody came back for it

    ``id`` is the provider's idempotency key and the id of the receipt. ``intent`` is the call (the record of its
    Idempotency-Key), ``ordinal`` the place among its charges, ``attempt`` counts those that came to nothing.
    ``is_wanted`` says that the call may still come back for it; of each place there is one such row at most.
    What the mandates have paid is in them from ``pending`` on, and given back with ``declined`` and ``cancelled``.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        CAPTURED = "captured"
        DONE = "done"
        DECLINED = "declined"
        CANCELLED = "cancelled"

    id = models.CharField(max_length=25, primary_key=True)
    intent = models.CharField(max_length=71, editable=False, help_text="'sha256:' and hex.")
    ordinal = models.PositiveSmallIntegerField()
    attempt = models.PositiveIntegerField(default=0)
    provider = models.CharField(max_length=255, help_text="Dotted path of the provider that was asked.")
    reference = models.CharField(max_length=200, blank=True, help_text="The provider's own id of it.")
    state = models.CharField(max_length=9, choices=State.choices, default=State.PENDING)
    reason = models.CharField(max_length=200, blank=True, help_text="Why the provider declined it.")
    is_wanted = models.BooleanField(default=True)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    item = models.CharField(max_length=200)
    agreement = models.CharField(max_length=25, blank=True, db_index=True)
    metadata = models.JSONField(
        default=dict, blank=True, help_text="The site's own notes; the provider gets them."
    )
    site = models.CharField(max_length=255)
    action = models.CharField(max_length=100)
    request_id = models.CharField(max_length=25, db_index=True)
    agent = models.CharField(max_length=64, db_index=True)
    grants = models.JSONField(default=list, help_text="Ids of the grants that pay, the agent's own first.")
    parties = models.JSONField(default=list, help_text="Who may read its receipt.")
    user_key = models.CharField(
        max_length=100, blank=True, help_text="Of the person for whom the agent acts."
    )
    counts_use = models.BooleanField(
        default=False, help_text="Whether it holds the call's use of its grants."
    )
    approval = models.CharField(max_length=25, blank=True, help_text="The approval that it has used up.")
    created_at = models.DateTimeField()
    asked = models.PositiveIntegerField(default=0, help_text="How often the provider was asked again.")
    next_at = models.DateTimeField(help_text="When it is looked at next.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["intent", "ordinal", "attempt"], name="agentweb_payment_attempt"),
            models.UniqueConstraint(
                fields=["intent", "ordinal"], condition=Q(is_wanted=True), name="agentweb_one_wanted_payment"
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["next_at"],
                condition=Q(state__in=("pending", "captured")),
                name="agentweb_payments_unsettled",
            ),
        ]

    def __str__(self) -> str:
        return self.id


class Refund(models.Model):
    """Money that is given back of one charge, or is asked for; its own receipt follows when it is done.

    ::

        pending ──> processing ──> done        the receipt ``refund_receipt`` stands in the log
           └──────> refused  └───> declined    by staff; by the payment provider

    From ``processing`` on the amount counts as refunded in the charge's receipt; ``declined`` takes that back. In a
    site's own ledger a refund is done at once.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        PROCESSING = "processing"
        DONE = "done"
        REFUSED = "refused"
        DECLINED = "declined"

    id = models.CharField(max_length=25, primary_key=True, help_text="rf_ and 22 characters.")
    receipt = models.ForeignKey(Receipt, on_delete=models.PROTECT, related_name="refunds")
    refund_receipt = models.CharField(max_length=25, unique=True, help_text="Id of its own receipt.")
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    state = models.CharField(max_length=10, choices=State.choices)
    reason = models.CharField(max_length=200, blank=True)
    answer = models.CharField(
        max_length=200, blank=True, help_text="Why it was refused or declined; the agent reads it."
    )
    is_automatic = models.BooleanField(default=False, help_text="Of a charge whose action failed.")
    reference = models.CharField(max_length=200, blank=True, help_text="The provider's own id of it.")
    intent = models.CharField(max_length=71, blank=True, db_index=True, editable=False)
    asked_by = models.CharField(max_length=64, blank=True, help_text="Key or session of who asked for it.")
    request_id = models.CharField(max_length=25, db_index=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="agentweb_refunds",
    )
    created_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)
    asked = models.PositiveIntegerField(default=0, help_text="How often the provider was asked again.")
    next_at = models.DateTimeField(help_text="When it is looked at next.")

    class Meta:
        permissions: ClassVar = [
            ("give_refund", "Can give refunds, and decide about those that agents ask for")
        ]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="agentweb_refund_positive"),
            models.UniqueConstraint(
                fields=["receipt"], condition=Q(state="pending"), name="agentweb_one_waiting_refund"
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["next_at"], condition=Q(state="processing"), name="agentweb_refunds_unsettled"
            ),
        ]

    def __str__(self) -> str:
        return self.id
