"""The data for the front end, in one compact container."""
