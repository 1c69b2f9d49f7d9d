"""Input pipelines of tf.data."""
