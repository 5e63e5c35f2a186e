"""Official metrics and prediction files of HotpotQA, 2WikiMultihopQA and MuSiQue.

Invariant: the figures are those of the benchmarks' own scripts (`hotpot_evaluate_v1.py`,
`2wikimultihop_evaluate_v1.1.py`, MuSiQue's `evaluate_v1.0.py`), faults included. A question without a prediction
counts 0 and stays in the denominator.

    golds = read_golds("hotpotqa", "dev.json")
    predictions = read_predictions("hotpotqa", "predictions.json")
    metrics = evaluate("hotpotqa", predictions, golds)      # {"em": 0.41, ..., "joint_f1": 0.3}
"""

from agentenv.tasks.search.official.files import read_aliases, read_golds, read_predictions, write_predictions
from agentenv.tasks.search.official.metrics import as_printed, evaluate
from agentenv.tasks.search.official.records import FORMATS, Gold, Prediction, gold_from_row

__all__ = [
    "FORMATS",
    "Gold",
    "Prediction",
    "as_printed",
    "evaluate",
    "gold_from_row",
    "read_aliases",
    "read_golds",
    "read_predictions",
    "write_predictions",
]
