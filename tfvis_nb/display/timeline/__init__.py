"""The timeline as a widget."""
