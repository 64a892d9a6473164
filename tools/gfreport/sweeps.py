"""Reads the tables of `gfsim --sweep --csv=FILE` and draws their efficiency and images/s.

Files are not trusted.
"""
import csv
import io
import os

import axis
import plot
from runs import UserError, is_number, read_text

# How an axis of a sweep is called in a picture; other axes keep their own names.
AXES = {"ranks": "ranks (devices)", "theta": "threshold", "threshold": "threshold",
        "nic": "bandwidth of a network card"}
EXPECTED = ("ranks_total", "images_per_s", "speedup", "layer_times")


class Sweep:
    """A table: the names of its axes, its rows as {column: text}."""

    def __init__(self, name, axes, rows):
        self.name, self.axes, self.rows = name, axes, rows


def read(path):
    lines = csv.DictReader(io.StringIO(read_text(path)))
    columns = lines.fieldnames or []
    missing = [name for name in EXPECTED if name not in columns]
    axes = columns[:columns.index("ranks_total")] if not missing else []
    if missing or not axes:
        raise UserError("%s:1: not the table of a sweep: got columns %s; expected what gfsim "
                        "--sweep=... --csv=FILE writes" % (path, ", ".join(columns)[:80] or "none"))
    rows = []
    for row in lines:
        if None in row or None in row.values():
            raise UserError("%s:%d: got %d values, expected %d: is the file whole?" %
                            (path, lines.line_num, sum(v is not None for v in row.values()),
                             len(columns)))
        for name in ("ranks_total", "images_per_s", "speedup"):
            if number(row[name]) is None or number(row[name]) <= 0:
                raise UserError("%s:%d: %s is %s, must be a number greater than 0, at most 1e100" %
                                (path, lines.line_num, name, row[name][:40]))
        rows.append(row)
    if not rows:
        raise UserError("%s: the table has no rows" % path)
    return Sweep(os.path.splitext(os.path.basename(path))[0], axes, rows)


def number(text):
    try:
        value = float(text)
    except ValueError:
        return None
    return value if is_number(value) else None


def is_bytes(name):
    return name in ("theta", "threshold") or name.split(".")[-1].startswith("threshold_")


class Drawing:
    """A sweep's rows as curves over its first axis, one per combination of the other axes."""

    def __init__(self, sweep, title):
        self.sweep, self.axis = sweep, sweep.axes[0]
        self.title = title or "%s: simulated, layer times: %s" % (sweep.name,
                                                                  sweep.rows[0]["layer_times"])
        self.places = [number(row[self.axis]) for row in sweep.rows]
        self.words = []
        if None in self.places:  # an axis of words
            self.words = list(dict.fromkeys(row[self.axis] for row in sweep.rows))
            self.places = [self.words.index(row[self.axis]) for row in sweep.rows]

    def curves(self, value):
        """value(row): the height of its point."""
        found = {}
        for place, row in zip(self.places, self.sweep.rows):
            names = ["%s %s" % (name, axis.binary(float(row[name])) if is_bytes(name)
                                and number(row[name]) is not None else row[name])
                     for name in self.sweep.axes[1:]]
            found.setdefault(", ".join(names) or "simulated", []).append((place, value(row)))
        return found

    def draw(self, y_name, curves, **options):
        return plot.lines(self.title, AXES.get(self.axis, self.axis), y_name, curves,
                          log_x=not self.words and min(self.places) > 0, words=self.words,
                          x_word=axis.binary if is_bytes(self.axis) else None, **options)


def rate(row):
    return number(row["images_per_s"])


def efficiency(sweep, title=""):
    """Efficiency over the number of ranks; None if the first axis is another one."""
    if sweep.axes[0] != "ranks":
        return None
    drawing = Drawing(sweep, title)
    curves = drawing.curves(lambda row: 100 * number(row["speedup"]) / number(row["ranks_total"]))
    least = min(height for points in curves.values() for _, height in points)
    # From 0, curves that are all close to 100 % would be one line.
    low = 0 if least < 50 else 10 * int(least / 10 - 0.1)
    most = max(height for points in curves.values() for _, height in points)
    return drawing.draw("efficiency, %", list(curves.items()), ends=(low, max(100, most)),
                        zero=False)


def throughput(sweep, title=""):
    """Images/s over the first axis. Over ranks with the ideal, else with the best point marked."""
    drawing = Drawing(sweep, title)
    curves = list(drawing.curves(rate).items())
    if drawing.axis != "ranks":
        points = [point for _, points in curves for point in points]
        best = max(points, key=lambda point: point[1])
        return drawing.draw("images/s", curves, best=best if len(points) > 1 else None)
    ideal = [(place, rate(row) / number(row["speedup"]) * number(row["ranks_total"]))
             for place, row in zip(drawing.places[:len(curves[0][1])], sweep.rows)]
    return drawing.draw("images/s", curves + [("ideal (linear)", ideal)], log_y=True,
                        dashed=("ideal (linear)",))


def picture(sweep, title=""):
    """The picture that says most."""
    return efficiency(sweep, title) or throughput(sweep, title)
