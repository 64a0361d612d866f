"""The analyses of `salience analyse`, a file each."""
