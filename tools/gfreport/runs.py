"""Reads what gftrain writes: JSON lines and timelines. Files are not trusted."""
import json
import math
import os
import re


class UserError(Exception):
    """A mistake in what the user gave us: what, where, what was expected."""


class Run:
    """A run: its settings, and its records by kind."""

    def __init__(self, name):
        self.name = name
        self.settings = {}
        self.train, self.validation, self.checkpoint, self.end = [], [], [], []
        self.timeline = None

    @property
    def ranks(self):
        """How many ranks it had; 0 if it does not say."""
        match = re.match(r"(\d+)", str(self.settings.get("ranks", "")))
        return int(match.group(1)) if match else 0

    def series(self, kind, x, y):
        """The points (x, y) of the records of a kind that have both as finite numbers."""
        points = []
        for record in getattr(self, kind):
            a, b = record.get(x), record.get(y)
            if is_number(a) and is_number(b):
                points.append((float(a), float(b)))
        return points


def is_number(value):
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and math.isfinite(value))


def read_text(path):
    try:
        with open(path, encoding="utf-8") as source:
            return source.read()
    except UnicodeDecodeError as error:
        raise UserError("%s: not a text file: %s" % (path, error.reason)) from error
    except OSError as error:
        raise UserError("%s: %s" % (path, error.strerror)) from error


def read_lines(path):
    """The runs of a JSON-lines file, one per start record (a resumed run goes on in it)."""
    name = os.path.splitext(os.path.basename(path))[0]
    run = Run(name)
    lines = read_text(path).splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            if number == len(lines):
                break  # a run that is still writing, or was killed
            raise UserError("%s:%d: not a JSON object: %s" % (path, number, error)) from error
        if not isinstance(record, dict):
            raise UserError("%s:%d: expected a JSON object, got %s" % (path, number, line[:40]))
        kind = record.get("kind")
        if kind == "start" and isinstance(record.get("settings"), dict):
            run.settings = record["settings"]
        elif kind in ("train", "validation", "checkpoint", "end"):
            getattr(run, kind).append(record)
    if not (run.settings or run.train or run.validation):
        raise UserError("%s: holds no record of a run: expected what telemetry.jsonl names" % path)
    return run


def read_timeline(path):
    """The spans of a timeline, as dictionaries with lane, name, rank, begin and end (ms)."""
    try:
        events = json.loads(read_text(path))["traceEvents"]
        spans = []
        for event in events:
            if event.get("ph") != "X":
                continue
            if not (is_number(event["ts"]) and is_number(event["dur"])):
                raise ValueError("an event without time")
            spans.append({"lane": str(event["cat"]), "name": str(event["name"]),
                          "rank": int(event["pid"]), "begin": event["ts"] / 1e3,
                          "end": (event["ts"] + event["dur"]) / 1e3,
                          "step": event.get("args", {}).get("step")})
        return spans
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError("%s: not a timeline (%s): expected what --timeline_steps writes" %
                        (path, error)) from error


def read(path):
    """The runs of a file or a folder."""
    if not os.path.isdir(path):
        return [read_lines(path)]
    names = sorted(name for name in os.listdir(path) if name.endswith(".jsonl"))
    if not names:
        raise UserError("%s: the folder has no .jsonl file: name the file that telemetry.jsonl of "
                        "the run's config says" % path)
    found = [read_lines(os.path.join(path, name)) for name in names]
    if len(found) == 1:
        found[0].name = os.path.basename(os.path.abspath(path))
    timeline = os.path.join(path, "timeline.json")
    if os.path.exists(timeline):
        found[0].timeline = read_timeline(timeline)
    return found
