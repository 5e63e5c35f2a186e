"""Task sets of the terminal environment."""
