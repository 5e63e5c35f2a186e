"""Programming tasks: files, public tests to run, hidden tests that decide."""
