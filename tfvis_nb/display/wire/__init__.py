"""What the front end is sent, in one compact container."""
