"""Statements of our own over Rocq's standard library, with proofs: data, not code."""
