"""One site with every contestant in it, each doing the same work at its own address."""
