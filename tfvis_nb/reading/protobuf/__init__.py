"""Protobuf on the wire: known messages, and the position of damage."""
