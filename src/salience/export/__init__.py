"""Export of trained classifiers to ONNX, checked against the original."""
