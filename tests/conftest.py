"""Property tests have no deadlines: a busy machine is no error."""

from hypothesis import settings

settings.register_profile("untimed", settings.default, deadline=None)  # in other respects as before
settings.load_profile("untimed")
