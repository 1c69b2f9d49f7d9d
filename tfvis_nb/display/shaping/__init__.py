"""Traces and rows of them as the displays show them: parts, cut pauses, selections, sides of a comparison."""
