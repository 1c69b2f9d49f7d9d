"""What every other package uses: the Trace, its errors, devices, labels, intervals and options."""
