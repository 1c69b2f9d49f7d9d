"""Write a Trace in the format of another program, chosen by the file's suffix."""
