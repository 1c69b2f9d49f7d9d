"""Protobuf on the wire: the messages that are read, and where bytes are none of them."""
