"""The page: figures and tables of runs and sweeps."""
import html

import plot
import sweeps

STYLE = """
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
th, td { border-bottom: 1px solid #eee; }
td { overflow-wrap: break-word; } td.number { text-align: right; }
""" + plot.STYLE


def mean(values):
    return sum(values) / len(values) if values else None


def steady(run, name):
    """The mean of a field without the first record, which builds and measures."""
    values = [y for _, y in run.series("train", "step", name)]
    return mean(values[1:] or values)


def step_parts(run):
    """Milliseconds of a step: waiting for data, for communication, the rest. None if unknown."""
    rate, wait, comm = (steady(run, name) for name in ("images_per_s", "data_wait", "comm_ms"))
    images = str(run.settings.get("images per step", "")).replace(",", "")
    if not rate or wait is None or comm is None or not images.isdigit():
        return None
    step = 1e3 * int(images) / rate
    return [max(0.0, step - wait * step - comm), comm, wait * step]


def number(value, form="%.4g"):
    return "" if value is None else form % value


def summary(runs):
    rows = []
    for run in runs:
        last = run.validation[-1] if run.validation else {}
        top1 = last.get("top1")
        elapsed = [y for _, y in run.series("end", "step", "elapsed_s")]
        rows.append([run.name, str(run.ranks or ""), number(steady(run, "images_per_s"), "%.1f"),
                     number(100 * top1 if isinstance(top1, float) else None, "%.2f"),
                     number(elapsed[-1] if elapsed else None, "%.1f"),
                     str(run.end[-1].get("reason", "")) if run.end else "has not ended"])
    header = ["run", "ranks", "images/s", "top-1, %", "time, s", "end"]
    return table(header, rows, numbers=(1, 2, 3, 4))


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


def timeline(run):
    spans = run.timeline or []
    ranks = sorted({span["rank"] for span in spans})
    steps = sorted({span["step"] for span in spans if isinstance(span["step"], int)})
    if not ranks:
        return None
    chosen = [span for span in spans
              if span["rank"] == ranks[0] and (not steps or span["step"] == steps[0])]
    return plot.lanes("%s: rank %d%s" % (run.name, ranks[0],
                                         ", step %d" % steps[0] if steps else ""), chosen)


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


def render(runs, tables=()):
    def curves(kind, x, y, factor=1):
        return [(run.name, [(a, factor * b) for a, b in run.series(kind, x, y)]) for run in runs]

    bars = [(run.name, step_parts(run)) for run in runs]
    figures = [
        plot.lines("Training loss", "epoch", "loss", curves("train", "epoch", "loss")),
        plot.lines("Top-1 of the validations", "epoch", "top-1, %",
                   curves("validation", "epoch", "top1", 100)),
        plot.lines("Throughput", "epoch", "images/s", curves("train", "epoch", "images_per_s")),
        plot.lines("Learning rate", "epoch", "learning rate", curves("train", "epoch", "lr")),
        plot.stacked("Where the time of a step goes (means)", "ms per step",
                     ["compute and update", "exposed communication", "data wait"],
                     [bar for bar in bars if bar[1]]),
        scaling(runs)]
    figures += [timeline(run) for run in runs] + [sweeps.picture(table) for table in tables]
    title = "Report: %s" % ", ".join([run.name for run in runs] + [table.name for table in tables])
    return ('<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            "<title>%s</title><style>%s</style></head><body><h1>%s</h1>%s"
            '<div class="figures">%s</div>%s</body></html>\n' %
            (html.escape(title), STYLE, html.escape(title), summary(runs) if runs else "",
             "".join(plot.figure(picture) for picture in figures), settings(runs)))
