"""What runs through tf.Session: patched, observed, traced."""
