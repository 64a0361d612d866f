"""Loading encoders, and the models of our own."""
