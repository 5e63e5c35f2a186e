"""Task sets: one folder per environment."""
