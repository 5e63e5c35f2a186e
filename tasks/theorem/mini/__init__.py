"""The embedded prover: a small LCF-style kernel; statements are a subset of Lean 4's. It has no tactics yet."""
