"""Side-by-side measurements. `python -m benchmarks` prints every table; `python -m benchmarks wrappers` one of them."""
