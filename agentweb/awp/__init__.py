"""AWP 1.0: the site as texts and lists that fit into an agent's context (AWP.md)."""
