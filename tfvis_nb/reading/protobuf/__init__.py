"""Protobuf on the wire: known messages, and where bytes are not one."""
