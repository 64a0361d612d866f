"""Text and labels in, batches out."""
