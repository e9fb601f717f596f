"""The suites, by name."""
