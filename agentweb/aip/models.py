"""Rows of the browser bridge: pages that are open in somebody's browser, and what is asked of them.

Rows, so that any process may serve the page and any other the agent. Nothing of them is kept for long: a page that
closes takes its state along, a call its input and answer (``aip.retention``).
"""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

MAX_PAGE_LENGTH = 500


class OpenPage(models.Model):
    """One tab of a logged-in person that shows a page with ``bridge.js``.

    It is connected until ``connected_until``, which its open stream moves on. ``state`` is the JSON object that it
    published, ``offers`` the JSON list of the browser actions for which it has handlers. ``login`` is a mark that
    stands in the Django session of its person, too: another login of theirs is another browser; it is empty once the
    page was closed. ``session`` is what that login is looked up by (``people.presence``), sealed, and ``browser`` a
    digest of its session's key. ``stream`` marks its newest stream, the only one that takes calls: an older one may be
    broken without its server knowing yet.
    """

    id = models.CharField(max_length=25, primary_key=True, help_text="op_ and 22 characters.")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="agentweb_open_pages"
    )
    login = models.CharField(max_length=25, editable=False)
    session = models.TextField(blank=True, editable=False)
    browser = models.CharField(max_length=43, blank=True, editable=False)
    page = models.CharField(max_length=MAX_PAGE_LENGTH, help_text="Path, without a slash at its end.")
    state = models.TextField(default="{}", editable=False)
    offers = models.TextField(default="[]", editable=False)
    active_at = models.DateTimeField(help_text="When the person last opened it or came back to it.")
    connected_until = models.DateTimeField(db_index=True)
    stream = models.CharField(max_length=25, blank=True, editable=False)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["user", "page"], name="agentweb_open_page_of"),
            models.Index(fields=["login"], name="agentweb_open_pages_login"),
            models.Index(fields=["browser"], name="agentweb_open_pages_browser"),
        ]

    def __str__(self) -> str:
        return self.page


class BrowserCall(models.Model):
    """One browser action that an agent asked of an open page.

    ``waiting`` until a stream has taken it, ``sent`` until the page answers; ``over`` when nobody waits for an answer
    any more, ``dropped`` when it may not be taken any more, and ``answer`` says why. Each step is a conditional UPDATE,
    so a call that was given up while it waited is never delivered. ``slot`` numbers the open calls to one person's
    pages: the constraint is their limit. ``idents`` is the JSON list of the grants and keys that allowed the call, and
    ``password`` a digest that was the person's when a session did: what is revoked meanwhile is not delivered.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        SENT = "sent"
        DONE = "done"
        OVER = "over"
        DROPPED = "dropped"

    id = models.CharField(max_length=25, primary_key=True, help_text="bc_ and 22 characters.")
    page = models.ForeignKey(OpenPage, on_delete=models.CASCADE, related_name="calls")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="agentweb_browser_calls"
    )
    slot = models.PositiveSmallIntegerField(editable=False)
    idents = models.TextField(default="[]", editable=False)
    password = models.CharField(max_length=64, blank=True, editable=False)
    action = models.CharField(max_length=100)
    input = models.TextField(editable=False)
    state = models.CharField(max_length=7, choices=State.choices, default=State.WAITING)
    taken = models.CharField(
        max_length=25, blank=True, editable=False, help_text="By which turn of a reader."
    )
    is_refused = models.BooleanField(default=False)
    answer = models.TextField(
        blank=True, editable=False, help_text="JSON of the result, or of code and message."
    )
    deadline = models.DateTimeField(db_index=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["page"], condition=Q(state="waiting"), name="agentweb_calls_waiting"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["user", "slot"],
                condition=Q(state__in=("waiting", "sent")),
                name="agentweb_open_calls_of_one",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.state}"
