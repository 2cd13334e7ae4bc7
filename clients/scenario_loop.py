"""The loop of a program for Python that uses an official client; see client-program.ts."""

import json
import sys
import traceback


def read_input():
    """The first line of the input: URL, keys and test data."""
    return json.loads(sys.stdin.readline())


def run_scenarios(scenarios):
    """Runs the functions that the other lines name, each with a family of models."""
    for line in sys.stdin:
        try:
            family, name = line.split()
            scenarios[name](family)
            print("null", flush=True)
        except Exception:
            print(json.dumps(traceback.format_exc()), flush=True)
