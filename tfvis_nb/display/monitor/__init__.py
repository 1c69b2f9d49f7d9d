"""A recorded job as a widget: its runs, its traces, the requests to it."""
