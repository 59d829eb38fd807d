"""Speed, measured beside a floor in the same run. `python -m benchmarks` prints JSON lines."""
