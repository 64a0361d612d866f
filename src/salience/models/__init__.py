"""Loading of encoders and classifiers, and the attention classifiers of two papers."""
