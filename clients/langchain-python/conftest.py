"""Prints one line of JSON for each test: its name, its outcome, and the error or the reason why it was left out."""

import json

import pytest


def pytest_itemcollected(item):
    reason = item.cls.impossible.get(item.originalname)
    if reason:
        item.add_marker(pytest.mark.skip(reason))


def pytest_runtest_logreport(report):
    if report.when != "call" and report.outcome == "passed":
        return
    outcome, text = report.outcome, report.longreprtext
    if report.skipped:
        text = report.longrepr[2].removeprefix("Skipped: ")
    print(json.dumps({"name": report.nodeid.split("::", 1)[1], "outcome": outcome, "text": text}), flush=True)
