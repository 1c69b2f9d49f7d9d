"""The graphs of a trace: nodes, where they were to run, what they were estimated to cost."""
