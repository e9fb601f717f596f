"""What ``manage.py demo`` plays: an agent shops for a person, over real HTTP, and every step is checked."""
