"""Reads the tables of `gfsim --sweep --csv=FILE` and draws their images/s.

Files are not trusted.
"""
import csv
import io
import os

import plot
from runs import UserError, is_number, read_text

# How an axis of a sweep is called in a picture; other axes keep their own names.
AXES = {"ranks": "ranks (devices)", "theta": "threshold in bytes"}
EXPECTED = ("ranks_total", "images_per_s", "speedup", "layer_times")


class Sweep:
    """A table: the names of its one or two axes, its rows as {column: text}."""

    def __init__(self, name, axes, rows):
        self.name, self.axes, self.rows = name, axes, rows


def read(path):
    lines = csv.DictReader(io.StringIO(read_text(path)))
    columns = lines.fieldnames or []
    missing = [name for name in EXPECTED if name not in columns]
    axes = columns[:columns.index("ranks_total")] if not missing else []
    if missing or not 1 <= len(axes) <= 2:
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
                raise UserError("%s:%d: %s is %s, must be a number greater than 0" %
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


def picture(sweep, title=""):
    """Images/s over the first axis, a curve per value of the second one."""
    axis = sweep.axes[0]
    places = [number(row[axis]) for row in sweep.rows]
    words = []
    if None in places:  # an axis of words
        words = list(dict.fromkeys(row[axis] for row in sweep.rows))
        places = [words.index(row[axis]) for row in sweep.rows]
    curves = {}
    for place, row in zip(places, sweep.rows):
        name = "%s %s" % (sweep.axes[1], row[sweep.axes[1]]) if len(sweep.axes) > 1 else "simulated"
        curves.setdefault(name, []).append((place, number(row["images_per_s"])))
    ideal = []
    if axis == "ranks":
        first = len(next(iter(curves.values())))
        ideal = [(place, number(row["images_per_s"]) / number(row["speedup"])
                  * number(row["ranks_total"])) for place, row in zip(places[:first], sweep.rows)]
    return plot.lines(title or "%s: simulated, layer times: %s" % (sweep.name,
                                                                   sweep.rows[0]["layer_times"]),
                      AXES.get(axis, axis), "images/s",
                      list(curves.items()) + [("ideal (linear)", ideal)],
                      log_x=not words and min(places) > 0, log_y=axis == "ranks",
                      dashed=("ideal (linear)",), words=words)
