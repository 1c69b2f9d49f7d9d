"""StepStats and RunMetadata, binary or text, of every TensorFlow."""
