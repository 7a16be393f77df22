"""What can be asked: a bounded sum, and how its noisy value is read."""
