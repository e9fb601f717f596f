"""Rows of the analytics: one number a day, protocol and kind of agent. No address, no agent, no person."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

PROTOCOL_LENGTH = 32
FAMILY_LENGTH = 32


class AgentRequests(models.Model):
    """How many requests came on ``day`` (UTC) in this protocol from agents of this family, as far as was counted."""

    id = models.BigAutoField(primary_key=True)
    day = models.DateField(_("day (UTC)"))
    protocol = models.CharField(_("protocol"), max_length=PROTOCOL_LENGTH)
    family = models.CharField(_("kind of agent"), max_length=FAMILY_LENGTH)
    requests = models.BigIntegerField(_("requests"), default=0)

    class Meta:
        verbose_name = _("requests of agents")
        verbose_name_plural = _("requests of agents")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["day", "protocol", "family"], name="agentweb_requests_once"),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.protocol} {self.family}: {self.requests}"
