"""A server of the Model Context Protocol, which lets assistants read traces."""
