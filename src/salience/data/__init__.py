"""Reading texts and labels from files, encoding them as token ids, and forming batches; writing rows to files."""
