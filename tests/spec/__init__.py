"""What the four specifications ask for, and the proof that each of it is tested, planned or excused."""
