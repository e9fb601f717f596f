"""A URLconf that a test fills with what docs/how-to/deploy.md shows."""
