"""Programming tasks as an environment, and the grader that no submission can reach."""
