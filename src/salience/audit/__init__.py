"""What may be wrong with labelled texts: labels, near-duplicates, outliers, classes that are alike, telling words."""
