"""Flows: the steps of a manifest run one after the other (AGENT_ACTIONS section 9).

``engine`` runs steps and knows neither network nor disk, so that a site runs flows by it too; ``plan`` says before the
first step what is needed and what it may cost; ``runs`` keeps what is done on the disk;
``running`` is the client's way.
"""
