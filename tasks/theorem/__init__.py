"""Statements to prove: generated ones for the embedded prover, bundled ones, and readers of benchmark files."""
