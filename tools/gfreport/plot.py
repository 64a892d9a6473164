"""Plots as inline SVG: axes with units, ticks, a legend."""
import html
import math

WIDTH, HEIGHT = 560, 320
LEFT, RIGHT, TOP, BOTTOM = 66, 546, 14, 268
# Okabe and Ito's palette: told apart also by people who do not see colours.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")


def colour(i):
    return COLOURS[i % len(COLOURS)]


def short(value):
    """1500000 -> 1.5M"""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if abs(value) >= unit:
            return "%.4g%s" % (value / unit, name)
    return "%.4g" % value


def text(x, y, anchor, words, extra=""):
    return '<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>' % (x, y, anchor, extra,
                                                                     html.escape(words))


class Axis:
    """From values to pixels."""

    def __init__(self, low, high, first, last, log=False):
        if high <= low:
            low, high = (low / 2, low * 2) if log else (low - 1, high + 1)
        self.low, self.high, self.first, self.last, self.log = low, high, first, last, log

    def at(self, value):
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.first + share * (self.last - self.first)

    def ticks(self):
        if self.log and self.high >= 8 * self.low:
            exponents = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            ticks = [m * 10.0 ** e for e in exponents for m in (1, 2, 5)]
            return [t for t in ticks if self.low * 0.999 <= t <= self.high * 1.001]
        raw = (self.high - self.low) / 5
        unit = 10.0 ** math.floor(math.log10(raw))
        step = unit * next(m for m in (1, 2, 5, 10) if m * unit >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [step * i for i in range(first, int(math.floor(self.high / step + 1e-9)) + 1)]


def frame(x, y, x_name, y_name, x_ticks=None):
    parts = []
    for tick in y.ticks():
        parts.append('<path d="M%d %.1fH%d" class="grid"/>' % (LEFT, y.at(tick), RIGHT))
        parts.append(text(LEFT - 6, y.at(tick) + 4, "end", short(tick)))
    for tick in x_ticks or x.ticks():
        parts.append('<path d="M%.1f %dV%d" class="grid"/>' % (x.at(tick), TOP, BOTTOM))
        parts.append(text(x.at(tick), BOTTOM + 17, "middle", short(tick)))
    parts.append('<path d="M%d %dV%dH%d" class="frame"/>' % (LEFT, TOP, BOTTOM, RIGHT))
    parts.append(text((LEFT + RIGHT) / 2, BOTTOM + 38, "middle", x_name))
    parts.append(text(0, 0, "middle", y_name,
                      ' transform="translate(14 %.1f) rotate(-90)"' % ((TOP + BOTTOM) / 2)))
    return parts


def svg(parts, height=HEIGHT, label=""):
    return ('<svg viewBox="0 0 %d %d" role="img" aria-label="%s">%s</svg>' %
            (WIDTH, height, html.escape(label, quote=True), "".join(parts)))


def legend(names, dashed=()):
    items = ['<span><i style="background:%s"></i>%s</span>' %
             ("#777" if name in dashed else colour(i), html.escape(name))
             for i, name in enumerate(names)]
    return '<p class="legend">%s</p>' % "".join(items)


def lines(title, x_name, y_name, curves, zero=True, log=False, dashed=()):
    """curves: [(name, [(x, y)])]. A figure, or "" if nothing has points."""
    curves = [(name, points) for name, points in curves if points]
    if log:
        curves = [(name, [p for p in points if p[0] > 0 and p[1] > 0]) for name, points in curves]
    values = [point for _, points in curves for point in points]
    if not values:
        return ""
    low = min(v[1] for v in values)
    high = max(v[1] for v in values)
    if zero and not log:
        low = min(low, 0)
    x = Axis(min(v[0] for v in values), max(v[0] for v in values), LEFT, RIGHT, log)
    y = Axis(low / 1.1, high * 1.1, BOTTOM, TOP, log) if log else Axis(low, high, BOTTOM, TOP)
    # With logarithms the values themselves are marked: numbers of ranks.
    marks = sorted({v[0] for v in values}) if log else None
    parts = frame(x, y, x_name, y_name, marks)
    for i, (name, points) in enumerate(curves):
        stroke = "#777" if name in dashed else colour(i)
        path = "L".join("%.1f %.1f" % (x.at(a), y.at(b)) for a, b in points)
        dash = ' stroke-dasharray="5 4"' if name in dashed else ""
        parts.append('<path d="M%s" class="curve" stroke="%s"%s/>' % (path, stroke, dash))
        if len(points) < 40 and name not in dashed:
            parts += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (x.at(a), y.at(b), stroke)
                      for a, b in points]
    return figure(title, svg(parts, label=title), legend([name for name, _ in curves], dashed))


def figure(title, picture, words):
    return "<figure><figcaption>%s</figcaption>%s%s</figure>" % (html.escape(title), picture, words)


def stacked(title, y_name, names, bars):
    """bars: [(label, [value by name])], heights add up."""
    bars = [bar for bar in bars if sum(bar[1]) > 0]
    if not bars:
        return ""
    y = Axis(0, max(sum(values) for _, values in bars) * 1.05, BOTTOM, TOP)
    parts = frame(Axis(0, 1, LEFT, RIGHT), y, "run", y_name)
    parts = [part for part in parts if 'y="%.1f"' % (BOTTOM + 17) not in part and "V%d" % BOTTOM
             not in part] + ['<path d="M%d %dV%dH%d" class="frame"/>' % (LEFT, TOP, BOTTOM, RIGHT)]
    width = (RIGHT - LEFT) / len(bars)
    for i, (label, values) in enumerate(bars):
        middle, base = LEFT + (i + 0.5) * width, 0.0
        for k, value in enumerate(values):
            parts.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>' %
                         (middle - width * 0.3, y.at(base + value), width * 0.6,
                          y.at(base) - y.at(base + value), colour(k)))
            base += value
        parts.append(text(middle, BOTTOM + 17, "middle", label[:max(4, int(width / 7))]))
    return figure(title, svg(parts, label=title), legend(names))


def lanes(title, spans):
    """Spans of one rank and step as rows of bars; time in ms."""
    names = []
    for span in spans:
        if span["lane"] not in names:
            names.append(span["lane"])
    if not names:
        return ""
    start = min(span["begin"] for span in spans)
    row, left = 30, 110
    bottom = TOP + row * len(names)
    x = Axis(0, max(span["end"] for span in spans) - start, left, RIGHT)
    parts = []
    for tick in x.ticks():
        parts.append('<path d="M%.1f %dV%d" class="grid"/>' % (x.at(tick), TOP, bottom))
        parts.append(text(x.at(tick), bottom + 17, "middle", short(tick)))
    for k, name in enumerate(names):
        parts.append(text(left - 6, TOP + row * k + 20, "end", name))
    for span in spans:
        k = names.index(span["lane"])
        begin, end = x.at(span["begin"] - start), x.at(span["end"] - start)
        parts.append('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" class="span">'
                     "<title>%s: %.2f ms</title></rect>" %
                     (begin, TOP + row * k + 5, max(0.5, end - begin), row - 8, colour(k),
                      html.escape(span["name"]), span["end"] - span["begin"]))
    parts.append('<path d="M%d %dV%dH%d" class="frame"/>' % (left, TOP, bottom, RIGHT))
    parts.append(text((left + RIGHT) / 2, bottom + 38, "middle", "ms from the start"))
    return figure(title, svg(parts, bottom + 48, title), legend(names))
