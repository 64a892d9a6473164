"""Reads what gftrain writes: JSON lines and timelines. Files are not trusted."""
import json
import os
import re


# Numbers beyond are mistakes: sums and differences of them are finite, whatever a picture does.
LARGEST = 1e100


class UserError(Exception):
    """A mistake in what the user gave us: what, where, what was expected."""


class Run:
    """A run: its settings, and its records by kind."""

    def __init__(self, name):
        self.name = name
        self.settings = {}
        self.train, self.validation, self.checkpoint, self.end = [], [], [], []
        self.auto = []  # choices of comm.mode AUTO
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


class Timeline:
    """Spans: dictionaries with lane, name, rank, begin and end (ms). source: "" for a measured
    timeline, else how gfsim came to the layers' times."""

    def __init__(self, name, spans, source):
        self.name, self.spans, self.source = name, spans, source


def is_number(value):
    """Whether it is a number that can be drawn; neither NaN nor infinite."""
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and -LARGEST <= value <= LARGEST)


def is_too_large(value):
    return isinstance(value, (int, float)) and abs(value) > LARGEST


def read_text(path):
    if os.path.exists(path) and not os.path.isfile(path):
        raise UserError("%s: not a regular file: copy it to one first" % path)
    try:
        with open(path, encoding="utf-8") as source:
            return source.read()
    except UnicodeDecodeError as error:
        raise UserError("%s: not a text file: %s" % (path, error.reason)) from error
    except OSError as error:
        raise UserError("%s: %s" % (path, error.strerror)) from error


def read_lines(path):
    """The run of a JSON-lines file, in which a resumed run goes on. spent_s of a validation: the
    seconds of all starts until then."""
    name = os.path.splitext(os.path.basename(path))[0]
    run = Run(name)
    lines = read_text(path).splitlines()
    earlier = elapsed = 0  # seconds of the starts before, and of this one so far
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except RecursionError as error:
            raise UserError("%s:%d: not a JSON object: nested too deeply" %
                            (path, number)) from error
        except ValueError as error:
            if number == len(lines):
                break  # a run that is still writing, or was killed
            raise UserError("%s:%d: not a JSON object: %s" % (path, number, error)) from error
        if not isinstance(record, dict):
            raise UserError("%s:%d: expected a JSON object, got %s" % (path, number, line[:40]))
        for name, value in record.items():
            if is_too_large(value):
                raise UserError("%s:%d: %s is out of range, expected a number from -%g to %g" %
                                (path, number, name[:40], LARGEST, LARGEST))
        kind = record.get("kind")
        if kind == "start":
            earlier, elapsed = earlier + elapsed, 0
        if is_number(record.get("elapsed_s")):
            elapsed = record["elapsed_s"]
            record["spent_s"] = earlier + elapsed
        if kind == "start" and isinstance(record.get("settings"), dict):
            run.settings = record["settings"]
        elif kind in ("train", "validation", "checkpoint", "end", "auto"):
            getattr(run, kind).append(record)
    if not (run.settings or run.train or run.validation):
        raise UserError("%s: holds no record of a run: expected what telemetry.jsonl names" % path)
    return run


def read_timeline(path):
    """The Timeline of a file. An event of --timeline_steps is a line."""
    content = read_text(path)
    try:
        timeline = json.loads(content)
        spans = []
        for number, event in enumerate(timeline["traceEvents"], 1):
            if event.get("ph") != "X":
                continue
            for name in ("ts", "dur", "pid"):
                if not is_number(event[name]):
                    raise ValueError("event %d: %s is %s" % (number, name, str(event[name])[:40]))
            spans.append({"lane": str(event["cat"]), "name": str(event["name"]),
                          "rank": int(event["pid"]), "begin": event["ts"] / 1e3,
                          "end": (event["ts"] + event["dur"]) / 1e3,
                          "step": event.get("args", {}).get("step")})
        other = timeline.get("otherData") or {}
        source = str(other.get("layer_times", "")) if other.get("simulated") else ""
    except RecursionError as error:
        line = next((i for i, text in enumerate(content.splitlines(), 1)
                     if max(text.count("["), text.count("{")) > 500), 1)
        raise UserError("%s:%d: not a timeline: nested too deeply" % (path, line)) from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        place = ":%d" % error.lineno if isinstance(error, json.JSONDecodeError) else ""
        raise UserError("%s%s: not a timeline (%s): expected what gftrain --timeline_steps or "
                        "gfsim --timeline writes" % (path, place, error)) from error
    if not spans:
        raise UserError("%s: the timeline has no spans" % path)
    return Timeline(os.path.splitext(os.path.basename(path))[0], spans, source)


def inner_runs(path):
    """Names the folders inside that hold a log."""
    inner = sorted(name for name in os.listdir(path)
                   if os.path.isfile(os.path.join(path, name, "log.jsonl")))
    if not inner:
        return ""
    return "; did you mean %s?" % " ".join(os.path.join(path, name) for name in inner[:5])


def read(path):
    """The runs of a file or a folder."""
    if not os.path.isdir(path):
        return [read_lines(path)]
    names = sorted(name for name in os.listdir(path) if name.endswith(".jsonl"))
    if not names:
        raise UserError("%s: the folder has no .jsonl file%s; a job writes one with gftrain "
                        "--run_dir=FOLDER: name that FOLDER, or the file that telemetry.jsonl of "
                        "its config says" % (path, inner_runs(path)))
    found = [read_lines(os.path.join(path, name)) for name in names]
    if len(found) == 1:
        found[0].name = os.path.basename(os.path.abspath(path))
    timeline = os.path.join(path, "timeline.json")
    if os.path.exists(timeline):
        found[0].timeline = read_timeline(timeline)
    return found
