"""Real servers of the messenger, and nginx before them."""
