"""HOROVOD_TIMELINE files and the ranks of a job."""
