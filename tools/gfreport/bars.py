"""Pictures of parts: bars, areas over time, and lanes of spans. See plot.py."""
import html

from axis import Axis, color_of, short
from plot import BOTTOM, LEFT, RIGHT, TOP, Picture, frame, text


def stacked(title, y_name, names, bars):
    """Upright bars. bars: [(label, [value by name])]; the values add up."""
    bars = [bar for bar in bars if sum(bar[1]) > 0]
    if not bars:
        return None
    y = Axis(0, max(sum(values) for _, values in bars) * 1.05, BOTTOM, TOP)
    parts = frame(Axis(0, 1, LEFT, RIGHT), y, "run", y_name, x_marks=[])
    width = (RIGHT - LEFT) / len(bars)
    for i, (label, values) in enumerate(bars):
        middle, base = LEFT + (i + 0.5) * width, 0.0
        for k, value in enumerate(values):
            parts.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s">'
                         "<title>%s: %.4g</title></rect>" %
                         (middle - width * 0.3, y.at(base + value), width * 0.6,
                          y.at(base) - y.at(base + value), color_of(k), html.escape(names[k]),
                          value))
            base += value
        parts.append(text(middle, BOTTOM + 17, "middle", label[:max(4, int(width / 7))]))
    return Picture(title, parts, names)


def areas(title, x_name, y_name, names, points):
    """Parts over time, one above the other. points: [(x, [value by name])]."""
    points = sorted(point for point in points if sum(point[1]) > 0)
    if len(points) < 2:
        return None
    x = Axis(0, points[-1][0], LEFT, RIGHT)
    y = Axis(0, max(sum(values) for _, values in points) * 1.05, BOTTOM, TOP)
    parts, hover, below = [], [], [0.0] * len(points)
    for k, name in enumerate(names):
        above = [base + values[k] for base, (_, values) in zip(below, points)]
        edge = ["%.1f %.1f" % (x.at(at), y.at(v)) for (at, _), v in zip(points, above)]
        edge += ["%.1f %.1f" % (x.at(at), y.at(v)) for (at, _), v in
                 reversed(list(zip(points, below)))]
        parts.append('<path d="M%sZ" fill="%s" fill-opacity=".8"/>' % ("L".join(edge), color_of(k)))
        hover.append((name, color_of(k), [
            (x.at(at), y.at(v), "%s %s: %.4g" % (x_name, short(at), values[k]))
            for (at, values), v in zip(points, above)]))
        below = above
    return Picture(title, parts + frame(x, y, x_name, y_name), names, points=hover)


def rows(title, unit, names, bars):
    """Level bars with their sums beside them. bars: [(label, [value by name])]."""
    bars = [bar for bar in bars if sum(bar[1]) > 0]
    if not bars:
        return None
    left, row = 200, 26
    x = Axis(0, max(sum(values) for _, values in bars), left, RIGHT - 60)
    parts = []
    for i, (label, values) in enumerate(bars):
        top, base = TOP + row * i, 0.0
        parts.append(text(left - 8, top + 13, "end", label))
        for k, value in enumerate(values):
            parts.append('<rect x="%.1f" y="%d" width="%.1f" height="18" fill="%s"/>' %
                         (x.at(base), top, x.at(base + value) - x.at(base), color_of(k)))
            base += value
        parts.append(text(x.at(base) + 6, top + 13, "start", "%.0f %s" % (base, unit)))
    return Picture(title, parts, names, height=TOP + row * len(bars) + 8)


def lanes(title, spans):
    """Spans of one rank and step as rows of bars; time in ms."""
    names = []
    for span in spans:
        if span["lane"] not in names:
            names.append(span["lane"])
    if not names:
        return None
    start = min(span["begin"] for span in spans)
    row, left = 30, 130
    bottom = TOP + row * len(names)
    x = Axis(0, max(span["end"] for span in spans) - start, left, RIGHT)
    parts = []
    for tick in x.ticks():
        parts.append('<path d="M%.1f %dV%d" class="grid"/>' % (x.at(tick), TOP, bottom))
        parts.append(text(x.at(tick), bottom + 17, "middle", short(tick)))
    for k, name in enumerate(names):
        parts.append(text(left - 6, TOP + row * k + 20, "end", name[:18]))
    for span in spans:
        k = names.index(span["lane"])
        begin, end = x.at(span["begin"] - start), x.at(span["end"] - start)
        parts.append('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" class="span">'
                     "<title>%s: %.2f ms</title></rect>" %
                     (begin, TOP + row * k + 5, max(0.5, end - begin), row - 8, color_of(k),
                      html.escape(span["name"]), span["end"] - span["begin"]))
    parts.append('<path d="M%d %dV%dH%d" class="frame"/>' % (left, TOP, bottom, RIGHT))
    parts.append(text((left + RIGHT) / 2, bottom + 38, "middle", "ms from the start"))
    return Picture(title, parts, names, height=bottom + 48)
