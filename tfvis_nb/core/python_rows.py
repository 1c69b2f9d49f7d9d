"""Names of the rows that recordings make of Python: waits for batches, callbacks of Keras, and savers."""

NEXT_BATCH, CALLBACK, SAVING = "NextBatch", "Callback", "Saving"
