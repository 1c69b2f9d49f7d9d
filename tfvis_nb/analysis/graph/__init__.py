"""What the graphs of a trace say: nodes, where they were to run, what they were estimated to cost."""
