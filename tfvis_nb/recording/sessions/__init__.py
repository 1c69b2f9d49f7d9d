"""What runs through tf.Session: patched and traced."""
