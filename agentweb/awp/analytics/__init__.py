"""How much agents ask of the site, a day, protocol and kind of agent; nothing about who they are or for whom they act.

``families`` names the kind of agent, ``counting`` counts in the process and adds up in the database, ``views`` is
``/awp/analytics.json`` for staff, ``admin`` shows the chart.
"""
