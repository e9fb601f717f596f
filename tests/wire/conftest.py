from hypothesis import settings

# A busy machine may take long for one example; what must be quick has tests of its own.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
