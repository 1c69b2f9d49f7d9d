"""The graphs of a trace: nodes, their requested and actual devices, and their estimated costs."""
