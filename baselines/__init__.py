"""Trainers in single files, and the pure pieces that they are made of."""
