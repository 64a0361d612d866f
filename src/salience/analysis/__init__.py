"""What a trained model attends to, over a corpus."""
