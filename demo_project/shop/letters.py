"""Letters from agents to the shop's staff, who read them in the admin."""

from __future__ import annotations

from django.utils import timezone

from demo_project.shop.models import ContactMessage
from demo_project.shop.ownership import Owner
from demo_project.shop.shapes import Sent


def send(owner: Owner, *, topic: str, text: str, reply_to: str) -> Sent:
    """Keep a letter for the staff and answer its id."""
    letter = ContactMessage.objects.create(
        topic=topic, text=text, reply_to=reply_to, sent_at=timezone.now(), **owner.columns()
    )
    return {"message_id": letter.pk}
