"""Anonymizes a folder in a process of its own and prints the most memory that it ever held.

python -m tests.evaluation.dataset_process SOURCE TARGET METHOD
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from evaluation.dataset import DatasetJob, anonymize_dataset
from tests.evaluation.fakes import PORTRAIT_FACE, ScriptedFinder

SEED = "5e" * 32


def silent(stage: str, done: int, of: int) -> None:
    """Progress that nobody looks at."""


if __name__ == "__main__":
    source, target, method = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    job = DatasetJob(source, target, method, k=5, seed=SEED)
    anonymize_dataset(job, ScriptedFinder((PORTRAIT_FACE,)), silent)
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}\n")
