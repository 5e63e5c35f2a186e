"""Bugs to fix: tasks as text files, read by `agentenv.tasks.code.bundled.loading`."""
