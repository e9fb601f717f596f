"""Agents: found, suspended and deleted. How one comes to be is in ``registration``."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from agentweb.aim import log, statements, transactions
from agentweb.aim.log import Entry
from agentweb.aim.models import Agent, AgentKey, Contact
from agentweb.wire.clock import now_datetime
from agentweb.wire.json_writing import dumps

_ACTIVE: Final = Agent.Status.ACTIVE


def by_name(name: str) -> Agent | None:
    """One statement; ``keys`` is another."""
    return Agent.objects.filter(name=name).first()


def set_dm_policy(agent: Agent, policy: str) -> None:
    """Choose who may write to the agent, one of ``Agent.DmPolicy``."""
    Agent.objects.filter(pk=agent.pk).update(dm_policy=policy)
    agent.dm_policy = policy


def suspend(agent: Agent) -> bool:
    """Let the agent do nothing until it is restored; whether it was active."""
    return _change(agent, Agent.Status.SUSPENDED, now_datetime(), _ACTIVE)


def restore(agent: Agent) -> bool:
    """Let a suspended agent act again; whether it was suspended."""
    return _change(agent, _ACTIVE, None, Agent.Status.SUSPENDED)


def delete(agent: Agent) -> bool:
    """Delete the agent for good; False if it was already.

    Its name and its keys stay as a tombstone, so that nobody gets them. Its contacts are forgotten, and whoever has
    accepted it learns of it by one event. What it wrote to others stays theirs; what nobody else can read is erased by
    the worker, minutes later (``erasing``).
    """
    return transactions.run(lambda: _delete(agent))


def _delete(agent: Agent) -> bool:
    at = now_datetime()
    if not _change(agent, Agent.Status.DELETED, at, _ACTIVE, Agent.Status.SUSPENDED):
        return False
    AgentKey.objects.filter(agent=agent, until=None).update(until=at)
    Contact.objects.filter(owner=agent)._raw_delete(using=statements.connection().alias)
    data = dumps({"name": agent.name}).decode("utf-8")
    log.append([Entry(log.AGENTS, log.AGENT_DELETED, agent.pk, data)], at)
    return True


def _change(agent: Agent, to: Agent.Status, at: datetime | None, *before: Agent.Status) -> bool:
    changed = Agent.objects.filter(pk=agent.pk, status__in=before).update(status=to, ended_at=at)
    if changed:
        agent.status, agent.ended_at = to, at
    return bool(changed)
