"""The analyses of `salience analyse`, one file for each."""
