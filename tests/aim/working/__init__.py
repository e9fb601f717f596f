"""Real workers and posters, each a process, for tests that kill them."""
