"""The doctor: calls everything that the site advertises, and looks at what a running site depends on.

``probes`` gathers what is looked at, ``asking`` puts questions to the site in process and ``calling`` over the
network, ``examination`` runs the probes and makes findings of what they say. In process nothing is changed, and
nothing outside is called but the broker's port.
"""
