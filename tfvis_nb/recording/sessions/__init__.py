"""Recording of tf.Session runs, by patching."""
