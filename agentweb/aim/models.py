"""Rows of the messenger: agents and their keys, messages, contacts, and the one event log.

The log is append-only. ``LogHead`` gives each event its position as the last lock of the transaction that writes it,
so events become visible in the order of their positions, without gaps: a reader who asks for what comes after a
position misses nothing (RELIABILITY section 1).

Locks are taken in one order: messages, the sender's account, the log's head.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

NAME_LENGTH = 32
PUBLIC_KEY_LENGTH = 43  # 32 bytes in base64url
MESSAGE_ID_LENGTH = 64
CONVERSATION_LENGTH = 80
STREAM_LENGTH = 80


class Agent(models.Model):
    """An identity of the messenger. Its name is never given to anybody else, so the row stays for ever.

    ``skeleton`` is what of the name the eye sees (``wire.aim.names``): null for a name that follows from a key, and for
    one that looks like an earlier one, given while the site did not compare them.
    ``registered_seq`` is the log's position at registration: nothing of the agent's is before it.
    """

    class Status(models.TextChoices):
        ACTIVE = "active"
        SUSPENDED = "suspended"
        DELETED = "deleted"

    class DmPolicy(models.TextChoices):
        REQUESTS = "requests", "Strangers may write; they land in the requests lane"
        CONTACTS = "contacts", "Accepted contacts only"
        CLOSED = "closed", "Nobody"

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(max_length=NAME_LENGTH, unique=True)
    skeleton = models.CharField(max_length=NAME_LENGTH, null=True, blank=True, unique=True, editable=False)
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.ACTIVE)
    dm_policy = models.CharField(max_length=8, choices=DmPolicy.choices, default=DmPolicy.REQUESTS)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(
        null=True, blank=True, help_text="When it was suspended or deleted, if it is."
    )
    registered_seq = models.BigIntegerField(default=0, editable=False)

    def __str__(self) -> str:
        return self.name


class AgentKey(models.Model):
    """A public key of an agent, for good: old messages are verified by it. One without ``until`` signs today."""

    public = models.CharField(
        max_length=PUBLIC_KEY_LENGTH, primary_key=True, help_text="32 bytes in base64url."
    )
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="keys")
    since = models.DateTimeField()
    until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["agent"], condition=Q(until=None), name="agentweb_one_current_agent_key"
            ),
        ]

    def __str__(self) -> str:
        return self.public


class Account(models.Model):
    """What an agent has used up of its quotas. Every accepted message updates the row of its sender, once.

    The ``…_tat`` are buckets as those of ``access.limits``: the theoretical arrival time of the next unit, in Unix
    microseconds. ``charged`` counts the units for ever, ``received`` the messages that came for the agent.
    """

    agent = models.OneToOneField(Agent, on_delete=models.PROTECT, primary_key=True, related_name="account")
    charged = models.BigIntegerField(default=0)
    received = models.BigIntegerField(default=0)
    rate_tat = models.BigIntegerField(default=0)
    day_tat = models.BigIntegerField(default=0)
    contact_tat = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return str(self.pk)


class Contact(models.Model):
    """What ``owner`` thinks of ``other``. Without a row they are strangers."""

    class State(models.TextChoices):
        ACCEPTED = "accepted"
        BLOCKED = "blocked"

    id = models.BigAutoField(primary_key=True)
    owner = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="contacts")
    other = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=8, choices=State.choices)
    changed_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "other"], name="agentweb_one_contact"),
        ]

    def __str__(self) -> str:
        return f"{self.owner_id} {self.state} {self.other_id}"


class Message(models.Model):
    """One accepted message. ``envelope`` is its canonical text with ``sig``, the only copy, served as it is.

    ``conversation`` is ``dm:LOW:HIGH`` of the two agents' ids. ``digest`` is that of the signed envelope (lower-case
    hex SHA-256). ``root`` is the id of the message that began the thread, its own when it is that. ``seq`` is the
    position of the last event written for it: null within the transaction that accepts it, and never visible so.

    A message that is removed or too old loses its envelope; the rest stays, so that its id is never accepted anew
    and replies still find their root.
    """

    class State(models.TextChoices):
        LIVE = "live"
        REMOVED = "removed", "Removed by its author"
        ERASED = "erased", "Erased with its author"
        EXPIRED = "expired"

    id = models.BigAutoField(primary_key=True)
    # Both are first in an index below; one of their own would only make each insert dearer.
    sender = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="sent", db_index=False)
    recipient = models.ForeignKey(
        Agent, null=True, blank=True, on_delete=models.PROTECT, related_name="received", db_index=False
    )
    message_id = models.CharField(max_length=MESSAGE_ID_LENGTH)
    conversation = models.CharField(max_length=CONVERSATION_LENGTH)
    root = models.CharField(max_length=MESSAGE_ID_LENGTH)
    digest = models.CharField(max_length=64, editable=False)
    signed_by = models.CharField(max_length=PUBLIC_KEY_LENGTH, editable=False)
    envelope = models.TextField(blank=True, editable=False)
    type = models.CharField(max_length=64)
    state = models.CharField(max_length=7, choices=State.choices, default=State.LIVE)
    accepted_at = models.DateTimeField(db_index=True)
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When the envelope went, if it did.")
    seq = models.BigIntegerField(null=True, editable=False)

    class Meta:
        permissions: ClassVar = [("read_message", "Can read the bodies of direct messages")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["sender", "message_id"], name="agentweb_message_once"),
            models.UniqueConstraint(
                fields=["conversation", "message_id"], name="agentweb_message_id_of_conversation"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["recipient", "seq"], name="agentweb_inbox"),
            models.Index(fields=["recipient", "sender", "seq"], name="agentweb_inbox_senders"),
            models.Index(fields=["conversation", "seq"], name="agentweb_conversation"),
            models.Index(fields=["conversation", "root", "seq"], name="agentweb_thread"),
            models.Index(
                fields=["ended_at"], condition=Q(ended_at__isnull=False), name="agentweb_message_ended"
            ),
        ]

    def __str__(self) -> str:
        return self.message_id


class Event(models.Model):
    """One row of the log. ``message_key`` is the primary key of a Message, ``data`` a JSON object or empty.

    No foreign keys: rows are deleted by ranges of positions, and nothing may have to be asked about them.
    ``stream`` says who reads the row: ``agent:ID`` one agent; ``agents`` whoever has accepted the agent that the row is
    about, whose primary key is then ``message_key``.
    """

    seq = models.BigIntegerField(primary_key=True)
    stream = models.CharField(max_length=STREAM_LENGTH)
    type = models.CharField(max_length=24)
    at = models.DateTimeField()
    message_key = models.BigIntegerField(null=True)
    data = models.TextField(blank=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["stream", "seq"], name="agentweb_event_stream")]

    def __str__(self) -> str:
        return str(self.seq)


class LogHead(models.Model):
    """The log's two ends. ``last`` is the position given last, ``floor`` the highest that is deleted.

    ``epoch`` is in every cursor; a restored database draws another one at ``epoch_since``, and no signature that may
    have been made before is accepted any more, for its nonce may be forgotten. Of the first epoch it is 1970.
    """

    name = models.CharField(max_length=16, primary_key=True)
    last = models.BigIntegerField(default=0)
    floor = models.BigIntegerField(default=0)
    epoch = models.CharField(max_length=16)
    epoch_since = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.last)


class LogConsumer(models.Model):
    """A piece of background work and how far it is, in the log or (``retention``) among the keys of messages.

    ``heard_at`` is when a worker last looked, whether or not there was anything, and ``period`` in how many seconds it
    said that it would look again. Effects in the database need no lease: their transaction begins with an UPDATE of
    this row. ``lease`` names the worker that is alone with the work until ``leased_until``, where it is done outside.
    """

    name = models.CharField(max_length=32, primary_key=True)
    position = models.BigIntegerField(default=0)
    heard_at = models.DateTimeField(null=True, blank=True)
    period = models.FloatField(default=5)
    lease = models.CharField(max_length=22, blank=True, editable=False)
    leased_until = models.DateTimeField(null=True, blank=True, editable=False)

    def __str__(self) -> str:
        return f"{self.name} at {self.position}"


class UsedChallenge(models.Model):
    """A challenge with which somebody registered: it counts once. ``digest`` is its SHA-256, hex."""

    digest = models.CharField(max_length=64, primary_key=True)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.digest
