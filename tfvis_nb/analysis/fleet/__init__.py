"""Many runs and tasks at once, from the tables of a dataset of traces."""
