"""A recorded job as a widget: its runs, traces and requests."""
