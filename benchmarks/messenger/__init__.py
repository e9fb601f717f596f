"""The messenger under measurement: agents, requests that they signed beforehand, and what is timed in one process."""
