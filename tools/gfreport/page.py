"""The page: figures and tables of runs and sweeps."""
import html
import os

import accuracy
import bars
import plot
import sweeps
from runs import is_number

STYLE = """
:root { color-scheme: light dark; --line: #ddd; --gap: #fff; --box: #fffffff0; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3a3f45; --gap: #16191d; --box: #23282ef0; }
  body { background: #16191d; color: #d8dde3; }
}
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 16px; max-width: 1200px; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; }
.figures { display: grid; gap: 24px; }
.figures { grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); }
figure { margin: 0; min-width: 0; } figcaption { font-weight: 600; margin-bottom: 4px; }
svg { width: 100%; height: auto; font: 13px system-ui, sans-serif; }
.legend { margin: 2px 0; } .legend span { display: inline-block; margin-right: 14px; }
.legend i { display: inline-block; width: 12px; height: 12px; margin-right: 5px; }
.wide { overflow-x: auto; margin-bottom: 20px; } table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: 2px 12px 2px 0; }
th, td { border-bottom: 1px solid var(--line); }
td { overflow-wrap: break-word; } td.number { text-align: right; }
""" + plot.STYLE + """svg text { fill: currentColor; } svg { overflow: visible; }
.grid { stroke: var(--line); } .frame { stroke: currentColor; } .span { stroke: var(--gap); }
#values { position: fixed; z-index: 1; padding: 4px 8px; pointer-events: none; font-size: 13px; }
#values { background: var(--box); border: 1px solid var(--line); border-radius: 4px; }
#values i { display: inline-block; width: 10px; height: 10px; margin-right: 6px; }
"""
AUTO_FIGURES = (("buckets", "%d"), ("bytes", "%d"), ("arithmetic_ms", "%.1f"),
                ("exposed_ms", "%.1f"), ("step_ms", "%.1f"), ("tried_ms", "%.1f"))
PARTS = ["compute and update", "exposed communication", "data wait"]


def script(name):
    """A file beside this one, as a part of the page."""
    folder = os.path.dirname(os.path.realpath(__file__))
    with open(os.path.join(folder, name), encoding="utf-8") as source:
        return "<script>%s</script>" % source.read()


def mean(values):
    return sum(values) / len(values) if values else None


def steady(run, name):
    """The mean of a field without the first record, which builds and measures."""
    values = [y for _, y in run.series("train", "step", name)]
    return mean(values[1:] or values)


def step_parts(run):
    """Milliseconds of a step by PARTS, means. None if unknown."""
    return parts_of(run, *(steady(run, name) for name in ("images_per_s", "data_wait", "comm_ms")))


def parts_of(run, rate, wait, comm):
    images = str(run.settings.get("images per step", "")).replace(",", "")
    if not rate or rate < 0 or wait is None or comm is None or not images.isdecimal() \
            or len(images) > 15:
        return None
    step = 1e3 * int(images) / rate
    return [max(0.0, step - wait * step - comm), max(0.0, comm), max(0.0, wait * step)]


def parts_over_time(run):
    """The same over the epochs, without the first record, which builds and measures."""
    points = []
    for record in run.train[1:]:
        values = [record.get(name) for name in ("epoch", "images_per_s", "data_wait", "comm_ms")]
        parts = parts_of(run, *values[1:]) if all(map(is_number, values)) else None
        if parts:
            points.append((values[0], parts))
    return bars.areas("%s: a step over time" % run.name, "epoch", "ms per step", PARTS, points)


def number(value, form="%.4g"):
    return "" if value is None else form % value


def summary(runs):
    rows = []
    for run in runs:
        last = run.validation[-1] if run.validation else {}
        top1, top5 = (100 * last[name] if is_number(last.get(name)) else None
                      for name in ("top1", "top5"))
        loss = last.get("loss") if is_number(last.get("loss")) else None
        elapsed = [y for _, y in run.series("end", "step", "elapsed_s")]
        rows.append([run.name, str(run.ranks or ""), number(steady(run, "images_per_s"), "%.1f"),
                     number(top1, "%.2f"), number(top5, "%.2f"), number(loss),
                     number(elapsed[-1] if elapsed else None, "%.1f"),
                     str(run.end[-1].get("reason", "")) if run.end else "has not ended"])
    header = ["run", "ranks", "images/s", "top-1, %", "top-5, %", "validation loss", "time, s",
              "end"]
    return table(header, rows, numbers=(1, 2, 3, 4, 5, 6))


def to_accuracy(runs, target, price):
    """Time and cost to a top-1, by default to one that all runs reach."""
    target = target or accuracy.common_target(runs)
    if not target:
        return ""
    return "<h2>Time to accuracy</h2>" + table(
        accuracy.HEADER, accuracy.rows(runs, target, price), numbers=(1, 2, 3, 4))


def table(header, rows, numbers=()):
    cells = "".join("<th>%s</th>" % html.escape(name) for name in header)
    body = ["<tr>%s</tr>" % cells]
    for row in rows:
        body.append("<tr>%s</tr>" % "".join(
            "<td%s>%s</td>" % (' class="number"' if i in numbers else "", html.escape(cell))
            for i, cell in enumerate(row)))
    return '<div class="wide"><table>%s</table></div>' % "".join(body)


def scaling(runs):
    """Images/s over ranks, where runs of different numbers of ranks are there."""
    points = {}
    for run in runs:
        rate = steady(run, "images_per_s")
        if run.ranks and rate:
            points[run.ranks] = max(rate, points.get(run.ranks, 0))
    if len(points) < 2:
        return None
    least = min(points)
    ideal = [(ranks, points[least] * ranks / least) for ranks in sorted(points)]
    return plot.lines("Scaling", "ranks", "images/s",
                      [("measured", sorted(points.items())), ("ideal (linear)", ideal)],
                      log_x=True, log_y=True, dashed=("ideal (linear)",))


def timeline(name, recorded):
    """The first rank and step of a Timeline; None for none."""
    if recorded is None:
        return None
    spans = recorded.spans
    rank = min(span["rank"] for span in spans)
    steps = sorted({span["step"] for span in spans if isinstance(span["step"], int)})
    chosen = [span for span in spans
              if span["rank"] == rank and (not steps or span["step"] == steps[0])]
    if recorded.source:
        title = "%s: a simulated step, rank %d (layer times: %s)" % (recorded.name, rank,
                                                                    recorded.source)
    else:
        title = "%s: rank %d%s" % (name, rank, ", step %d" % steps[0] if steps else "")
    return bars.lanes(title, chosen)


def choices(runs):
    """The tables by which comm.mode AUTO has chosen."""
    parts = []
    for run in runs:
        for record in run.auto:
            rungs = record.get("rungs")
            rows = []
            for rung in rungs if isinstance(rungs, list) else []:
                if not isinstance(rung, dict):
                    continue
                figures = [form % rung[name] if is_number(rung.get(name)) else ""
                           for name, form in AUTO_FIGURES]
                rows.append([str(rung.get("rung", ""))[:80]] + figures +
                            [str(rung.get("verdict", ""))[:200]])
            parts.append("<h2>%s</h2>" % html.escape(
                "%s: comm.mode AUTO has taken %s" % (run.name, str(record.get("chosen", ""))[:80])))
            parts.append(table(["rung", "buckets", "bytes sent", "arithmetic, ms", "exposed, ms",
                                "step, ms", "tried, ms", "verdict"], rows,
                               numbers=(1, 2, 3, 4, 5, 6)))
    return "".join(parts)


def settings(runs):
    """A column per run; runs of equal settings need not be read twice."""
    names = []
    for run in runs:
        names += [name for name in run.settings if name not in names]
    rows = [[name] + [str(run.settings.get(name, "")) for run in runs] for name in names]
    differ = [row for row in rows if len(set(row[1:])) > 1]
    header = ["setting"] + [run.name for run in runs]
    parts = []
    if len(runs) > 1 and differ:
        parts.append("<h2>What differs</h2>" + table(header, differ))
    if rows:
        parts.append("<h2>Settings</h2><details><summary>all %d</summary>%s</details>" %
                     (len(rows), table(header, rows)))
    return "".join(parts)


def render(runs, tables=(), timelines=(), state="", target=None, price=None):
    """The page. state: of the files, if a server refreshes the page when they change. target,
    price: for the time to accuracy."""
    def curves(kind, x, y, factor=1):
        return [(run.name, [(a, factor * b) for a, b in run.series(kind, x, y)]) for run in runs]

    means = [(run.name, step_parts(run)) for run in runs]
    figures = [
        plot.lines("Training loss", "epoch", "loss", curves("train", "epoch", "loss")),
        plot.lines("Top-1 of the validations", "epoch", "top-1, %",
                   curves("validation", "epoch", "top1", 100)),
        plot.lines("Top-5 of the validations", "epoch", "top-5, %",
                   curves("validation", "epoch", "top5", 100)),
        plot.lines("mAP of the validations", "epoch", "mAP, %",
                   curves("validation", "epoch", "mean_average_precision", 100)),
        plot.lines("RMSE of the validations", "epoch", "RMSE",
                   curves("validation", "epoch", "rmse")),
        plot.lines("Loss of the validations", "epoch", "loss",
                   curves("validation", "epoch", "loss")),
        plot.lines("Throughput", "epoch", "images/s", curves("train", "epoch", "images_per_s")),
        plot.lines("Learning rate", "epoch", "learning rate", curves("train", "epoch", "lr")),
        bars.stacked("Where the time of a step goes (means)", "ms per step", PARTS,
                     [bar for bar in means if bar[1]]),
        scaling(runs)]
    figures += [parts_over_time(run) for run in runs]
    figures += [timeline(run.name, run.timeline) for run in runs]
    figures += [timeline(alone.name, alone) for alone in timelines]
    figures += [draw(table) for table in tables for draw in (sweeps.efficiency, sweeps.throughput)]
    title = "Report: %s" % ", ".join(thing.name for thing in [*runs, *tables, *timelines])
    return ('<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<title>%s</title><style>%s</style></head><body data-state="%s"><h1>%s</h1>%s'
            '<div class="figures">%s</div>%s%s</body></html>\n' %
            (html.escape(title), STYLE, html.escape(state), html.escape(title),
             summary(runs) + to_accuracy(runs, target, price) if runs else "",
             "".join(plot.figure(picture) for picture in figures), choices(runs) + settings(runs),
             script("hover.js") + (script("refresh.js") if state else "")))


def problem(message, state):
    """The page of a run that cannot be read at the moment."""
    return ('<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Report</title>'
            '<style>%s</style></head><body data-state="%s"><p>%s</p>%s</body></html>\n' %
            (STYLE, html.escape(state), html.escape(message), script("refresh.js")))
