"""A site with a live page, for tests with real servers and a real browser."""
