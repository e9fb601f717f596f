"""Rows of counts: how many tokens the texts have that documents are fitted from, so that no request counts them."""

from __future__ import annotations

from django.db import models


class CountedText(models.Model):
    """The ``tokens`` of a text that is known by its ``digest`` (``counted.digest_of``), SHA-256 in hex.

    Most are no text that is served, but one that was tried: a beginning of it that might fit. ``seen_at`` is when the
    site's texts were last counted with it among them.
    """

    id = models.BigAutoField(primary_key=True)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    tokens = models.PositiveIntegerField()
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.digest[:12]}: {self.tokens}"
