#!/usr/bin/env python3
"""Says how a `bazel test` went, from its build events: what was skipped and why, which targets
took longest, which passed only when they were tried again, and what failed.

The last line is "N passed, N failed, N skipped". What is counted are single tests: those of
GoogleTest and of Python's unittest by their logs; any other test target counts as one. A test
that several ranks run counts once. Exit code: 0 if nothing failed, else 1.
"""
import argparse
import json
import re
import sys
import urllib.parse

PASSED, SKIPPED, FAILED = "passed", "skipped", "failed"
RANK = {PASSED: 0, SKIPPED: 1, FAILED: 2}

# How many of the slowest targets are named.
SLOWEST = 10

# What is said of a target that its configuration leaves out.
NOT_HERE = {"": (SKIPPED, "not for this configuration")}

GTEST = re.compile(r"\[ {2,}(OK|SKIPPED|FAILED) +\] ([\w/.]+)(?:, where [^\n]*)? \(\d+ ms\)")
GTEST_REASON = re.compile(r"^\S+:\d+: Skipped\n(?!\S+:\d+: Skipped$)(.*)$", re.MULTILINE)
UNITTEST = re.compile(r"^(\w+) \(([\w.]+)\)(?:\n[^\n]*)?? \.\.\. (ok|FAIL|ERROR|skipped[^\n]*)$",
                      re.MULTILINE)
SCRIPT_SKIP = re.compile(r"^SKIPPED\b:?\s*(.*)$", re.MULTILINE)


class Outcome:
    """The tests of one target: name -> (result, reason); its seconds, and whether an earlier
    attempt of the target failed."""

    def __init__(self, tests=(), seconds=0, flaky=False):
        self.tests = dict(tests)
        self.seconds = seconds
        self.flaky = flaky

    def add(self, name, result, reason=""):
        old = self.tests.get(name)
        if old is None or RANK[result] > RANK[old[0]]:
            self.tests[name] = (result, reason)


def outcome_of_log(text, succeeded):
    """The tests that a log speaks of; one without a name if it speaks of none."""
    outcome = Outcome()
    start = 0
    for match in GTEST.finditer(text):
        result = {"OK": PASSED, "SKIPPED": SKIPPED, "FAILED": FAILED}[match.group(1)]
        reason = ""
        if result == SKIPPED:
            reasons = GTEST_REASON.findall(text, start, match.start())
            reason = reasons[-1] if reasons else ""
        start = match.end()
        outcome.add(match.group(2), result, reason)
    # A test's docstring, if it has one, is printed below its name.
    for name, suite, word in UNITTEST.findall(text):
        result = {"ok": PASSED, "FAIL": FAILED, "ERROR": FAILED}.get(word, SKIPPED)
        outcome.add(suite + "." + name, result, word if result == SKIPPED else "")
    if not outcome.tests:
        skip = SCRIPT_SKIP.search(text)
        if skip:
            outcome.add("", SKIPPED, skip.group(1))
        elif succeeded:
            outcome.add("", PASSED)
    if not succeeded and all(result != FAILED for result, _ in outcome.tests.values()):
        outcome.add("", FAILED, "the target failed outside its tests")
    return outcome


def read_log(uri):
    path = urllib.parse.unquote(urllib.parse.urlparse(uri).path)
    try:
        with open(path, errors="replace") as log:
            return log.read()
    except OSError:
        return ""


def read_events(lines):
    """Build events -> {label: Outcome} of every test target."""
    tests, logs, status, seconds, missing = set(), {}, {}, {}, {}
    for line in lines:
        event = json.loads(line)
        if "saved outcomes" in event:
            return load(event)
        key = event.get("id", {})
        if "targetConfigured" in key and event.get("configured", {}).get("testSize"):
            tests.add(key["targetConfigured"]["label"])
        elif "targetCompleted" in key:
            label = key["targetCompleted"]["label"]
            if event.get("aborted", {}).get("reason") == "SKIPPED":
                missing[label] = NOT_HERE[""]
            elif not event.get("completed", {}).get("success"):
                missing[label] = (FAILED, "was not built")
        elif "testResult" in key:
            result = key["testResult"]
            # Of several attempts the last one counts.
            attempts = logs.setdefault(result["label"], {}).setdefault(
                (result.get("run"), result.get("shard")), {})
            attempts[result.get("attempt", 1)] = [
                output["uri"] for output in event.get("testResult", {}).get("testActionOutput", [])
                if output["name"] == "test.log"]
        elif "testSummary" in key and "testSummary" in event:  # without one: it was stopped
            label, summary = key["testSummary"]["label"], event["testSummary"]
            status[label] = summary["overallStatus"]
            seconds[label] = int(summary.get("totalRunDurationMillis", 0)) / 1000
    outcomes = {}
    for label in sorted(tests | set(status)):
        if label in status:
            text = "\n".join(read_log(uri) for attempts in logs.get(label, {}).values()
                             for uri in attempts[max(attempts)])
            succeeded = status[label] in ("PASSED", "FLAKY")
            outcomes[label] = outcome_of_log(text, succeeded)
            outcomes[label].seconds = seconds[label]
            outcomes[label].flaky = status[label] == "FLAKY"
            if status[label] == "TIMEOUT":
                outcomes[label].add("", FAILED, "ran out of time")
        else:
            outcomes[label] = Outcome()
            outcomes[label].add("", *missing.get(label, (FAILED, "did not run")))
    return outcomes


def save(outcomes, path):
    """In one line, for read_events."""
    with open(path, "w") as file:
        json.dump({"saved outcomes": {label: vars(outcome) for label, outcome in outcomes.items()}},
                  file)


def load(event):
    outcomes = {}
    for label, saved in event["saved outcomes"].items():
        saved["tests"] = {name: tuple(result) for name, result in saved["tests"].items()}
        outcomes[label] = Outcome(**saved)
    return outcomes


def print_details(outcomes):
    """A line per failed test; one per reason of skipped ones."""
    skipped = {}
    for label, outcome in outcomes.items():
        for name, (result, reason) in outcome.tests.items():
            if result == SKIPPED:
                skipped.setdefault(reason, []).append(label + (" " + name if name else ""))
    for reason, names in skipped.items():
        more = " and %d more" % (len(names) - 1) if len(names) > 1 else ""
        print("skipped  %s%s%s" % (names[0], more, ": " + reason if reason else ""))
    slowest = sorted(outcomes, key=lambda label: -outcomes[label].seconds)[:SLOWEST]
    for label in slowest:
        if outcomes[label].seconds >= 1:
            print("slow     %s: %.0f s" % (label, outcomes[label].seconds))
    for label, outcome in outcomes.items():
        if outcome.flaky:
            print("flaky    %s: failed at first, passed when tried again" % label)
    for label, outcome in outcomes.items():
        for name, (result, reason) in outcome.tests.items():
            if result == FAILED:
                print("failed   %s%s%s" % (label, " " + name if name else "",
                                           ": " + reason if reason else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("events", help="what --build_event_json_file wrote")
    parser.add_argument("--more", action="append", default=[], metavar="NAME=EVENTS",
                        help="the same of another run of bazel, in which tests have other results")
    parser.add_argument("--save", metavar="FILE",
                        help="only write to FILE what the events and the tests' logs say; FILE can "
                        "take the place of EVENTS when another run has overwritten the logs")
    parser.add_argument("--bazel_exit_code", type=int, default=0)
    parser.add_argument("--check", action="append", default=[], metavar="NAME=RESULT",
                        help="a check that ran beside the tests: passed, failed or skipped")
    arguments = parser.parse_args()
    outcomes = {}
    runs = [("", arguments.events)]
    for more in arguments.more:
        name, path = more.split("=", 1)
        runs.append((" (%s)" % name, path))
    for suffix, path in runs:
        try:
            with open(path) as events:
                for label, outcome in read_events(events).items():
                    if suffix and outcomes.get(label, outcome).tests == NOT_HERE:
                        outcomes.pop(label, None)
                    outcomes[label + suffix] = outcome
        except (OSError, ValueError):
            pass
    if arguments.save:
        save(outcomes, arguments.save)
        return 0
    for check in arguments.check:
        name, result = check.rsplit("=", 1)
        outcomes[name] = Outcome()
        outcomes[name].add("", result)

    counts = {PASSED: 0, FAILED: 0, SKIPPED: 0}
    for outcome in outcomes.values():
        for result, _ in outcome.tests.values():
            counts[result] += 1
    # 3: tests failed; 4: there were none to run. Anything else is told nowhere above.
    if arguments.bazel_exit_code not in (0, 3, 4) and counts[FAILED] == 0:
        outcomes["bazel"] = Outcome()
        outcomes["bazel"].add("", FAILED, "exit code %d" % arguments.bazel_exit_code)
        counts[FAILED] += 1

    print()
    print_details(outcomes)
    print("%d passed, %d failed, %d skipped" % (counts[PASSED], counts[FAILED], counts[SKIPPED]))
    return 1 if counts[FAILED] else 0


if __name__ == "__main__":
    sys.exit(main())
