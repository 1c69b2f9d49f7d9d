"""The layers of models that lived while a trace was recorded, and which events they made."""
