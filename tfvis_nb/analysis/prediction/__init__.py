"""What a change would bring: the dependencies of a trace, replayed with other durations."""
