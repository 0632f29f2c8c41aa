"""Every benchmark, one after the other: `make bench`, or `python -m benchmarks [NAME …] [--quick]`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

# Arguments of a quick run: it shows that the benchmark works, but its figures say little.
BENCHMARKS: dict[str, list[str]] = {
    "candidates": ["--rounds", "2"],
    "joint_training": ["--model-size", "5m", "--rounds", "1"],
    "training_memory": ["--cases", "1"],
    "candidate_scoring": ["--rounds", "3"],
    "paireval": ["--model-size", "5m", "--rounds", "1"],
    "waiting": ["--turns", "12"],
    "authoring": ["--seconds", "2", "--sizes", "1000", "10000"],
    "page": ["--turns", "8"],
    "labelling": ["--rounds", "1", "--seconds", "1", "--sizes", "1000", "10000", "--annotators", "1", "5"],
    "labelling_page": ["--submissions", "10", "--utterances", "200"],
    "labelling_data": ["--sizes", "300", "3000"],
    "batches": ["--batches", "20", "--labels", "4000", "--size", "200", "--repeats", "2"],
    "boards": ["--turns", "5000", "--repeats", "3"],
    "agreement": ["--rounds", "2", "--items", "20000"],
    "storage": ["--dialogues", "300", "--rounds", "1"],
    "webhooks": ["--events", "300", "--seconds", "2"],
    "assessment": ["--participants", "20", "--seconds", "20", "--kills", "2", "--model-conversations", "8"],
    "growth": [],
    "faults": ["--kills", "5", "--annotators", "3"],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of: {', '.join(BENCHMARKS)} (default: all)"
    )
    parser.add_argument("--quick", action="store_true", help="small runs, to see that they work")
    options = parser.parse_args()
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    failed = []
    for name in options.names or BENCHMARKS:
        print(f"\n== {name} ==", flush=True)
        started = time.monotonic()
        more = BENCHMARKS[name] if options.quick else []
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *more], check=False).returncode:
            failed.append(name)
        print(f"({time.monotonic() - started:.0f} s)", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
