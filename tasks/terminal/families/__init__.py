"""Families of generated terminal tasks: one module a family, each with one `FAMILY`."""
