"""Evaluation that anyone can check: play, add up with intervals, replay, report."""

from agentenv.evaluation.results import EpisodeRecord, Results, read_results, write_results

__all__ = ["EpisodeRecord", "Results", "read_results", "write_results"]
