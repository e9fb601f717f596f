"""What the pages of the site say, as Markdown in parts that fit into an agent's context."""
