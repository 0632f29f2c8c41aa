"""Keeps to the evaluator's command line: a report with a fixed figure, or the failure that FAKE_EVALUATOR asks for."""

import argparse
import json
import os
import sys
import time
from pathlib import Path

parser = argparse.ArgumentParser()
for name in ("data", "model", "split", "output"):
    parser.add_argument(f"--{name}")
parser.add_argument("--untrained-head", action="store_true")
parser.add_argument("--chat-template", action="store_true")
options = parser.parse_args()
behaviour = os.environ.get("FAKE_EVALUATOR", "measures")
if behaviour == "refuses":
    sys.stderr.write("No dialogue is of the split test.\nName another with --split.\n")
    sys.exit(1)
if behaviour == "hangs":
    time.sleep(60)
estimate = {"value": 0.2 if options.untrained_head else 0.4, "low": 0.1, "high": 0.5, "n": 30}
figures = {"preference": {"map": estimate, "mrr": estimate, "p_at_1": estimate}}
report = {"model": {"name": options.model}, "split": options.split, "n_turns": 30, "overall": figures}
Path(options.output).write_text(json.dumps(report))
