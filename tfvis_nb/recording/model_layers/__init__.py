"""The layers of the models that live in this process, and which events they made."""
