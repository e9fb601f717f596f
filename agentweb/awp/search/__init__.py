"""Search: an inverted index of the content in the site's own database, and the actions in memory, in one order.

``indexing`` keeps the index as a content run calls it, ``finding`` answers queries, ``views`` is ``/awp/search``.
"""
