"""What the documentation claims about speed, each figure by one command: `python -m benchmarks.NAME`."""
