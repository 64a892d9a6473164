"""Pictures in SVG: curves, bars, lanes; with axes, units, ticks and a legend.

Each function returns a Picture, or None where there is nothing to draw. figure() makes it a part of
an HTML page, document() a file of its own.
"""
import html
import math

WIDTH, HEIGHT = 560, 320
LEFT, RIGHT, TOP, BOTTOM = 66, 536, 14, 268
# Okabe and Ito's palette, which color-blind people can tell apart.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
DASHED = "#777"
# How the classes of the parts look; a page and a document have it once.
STYLE = """.grid { stroke: #ddd; } .frame { stroke: #000; fill: none; }
.curve { fill: none; stroke-width: 2; } .span { stroke: #fff; stroke-width: .5; }
"""


def color_of(i):
    return COLORS[i % len(COLORS)]


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
            lowest, highest = math.log10(self.low), math.log10(self.high)
            exponents = range(math.floor(lowest), math.ceil(highest) + 1)
            ticks = [m * 10.0 ** e for e in exponents for m in (1, 2, 5)]
            return [t for t in ticks if self.low * 0.999 <= t <= self.high * 1.001]
        raw = (self.high - self.low) / 5
        unit = 10.0 ** math.floor(math.log10(raw))
        step = unit * next(m for m in (1, 2, 5, 10) if m * unit >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [step * i for i in range(first, int(math.floor(self.high / step + 1e-9)) + 1)]


def frame(x, y, x_name, y_name, x_marks=None):
    """The axes. x_marks: [(value, word)] in place of numbers along the x axis."""
    parts = []
    for tick in y.ticks():
        parts.append('<path d="M%d %.1fH%d" class="grid"/>' % (LEFT, y.at(tick), RIGHT))
        parts.append(text(LEFT - 6, y.at(tick) + 4, "end", short(tick)))
    if x_marks is None:
        x_marks = [(tick, short(tick)) for tick in x.ticks()]
    end = -math.inf  # of the last word: a word that would cover it is left out
    for value, word in x_marks:
        parts.append('<path d="M%.1f %dV%d" class="grid"/>' % (x.at(value), TOP, BOTTOM))
        if x.at(value) - 4 * len(word) > end:
            parts.append(text(x.at(value), BOTTOM + 17, "middle", word))
            end = x.at(value) + 4 * len(word)
    parts.append('<path d="M%d %dV%dH%d" class="frame"/>' % (LEFT, TOP, BOTTOM, RIGHT))
    parts.append(text((LEFT + RIGHT) / 2, BOTTOM + 38, "middle", x_name))
    parts.append(text(0, 0, "middle", y_name,
                      ' transform="translate(14 %.1f) rotate(-90)"' % ((TOP + BOTTOM) / 2)))
    return parts


class Picture:
    """Parts of an SVG picture WIDTH pixels wide, and the names that its colors stand for."""

    def __init__(self, title, parts, names, height=HEIGHT, colors=None):
        self.title, self.parts, self.names, self.height = title, parts, names, height
        self.colors = colors or [color_of(i) for i in range(len(names))]


def figure(picture):
    """A part of an HTML page; "" for None."""
    if picture is None:
        return ""
    legend = "".join('<span><i style="background:%s"></i>%s</span>' % (color, html.escape(name))
                     for name, color in zip(picture.names, picture.colors))
    return ('<figure><figcaption>%s</figcaption><svg viewBox="0 0 %d %d" role="img" '
            'aria-label="%s">%s</svg><p class="legend">%s</p></figure>' %
            (html.escape(picture.title), WIDTH, picture.height,
             html.escape(picture.title, quote=True), "".join(picture.parts), legend))


def document(picture):
    """A whole SVG file: the title above, the legend below."""
    above, row = 30, 18
    height = above + picture.height + row * len(picture.names) + 8
    parts = [text(WIDTH / 2, 20, "middle", picture.title, ' font-weight="600"'),
             '<g transform="translate(0 %d)">%s</g>' % (above, "".join(picture.parts))]
    for i, (name, color) in enumerate(zip(picture.names, picture.colors)):
        y = above + picture.height + row * i
        parts.append('<rect x="%d" y="%d" width="12" height="12" fill="%s"/>' % (LEFT, y, color))
        parts.append(text(LEFT + 18, y + 11, "start", name))
    return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" '
            'font-family="sans-serif" font-size="13"><style>%s</style>'
            '<rect width="100%%" height="100%%" fill="white"/>%s</svg>\n' %
            (WIDTH, height, WIDTH, STYLE, "\n".join(parts)))


def lines(title, x_name, y_name, curves, zero=True, log_x=False, log_y=False, dashed=(), words=()):
    """curves: [(name, [(x, y)])]; curves of one name share a color. `zero` starts the y axis at 0.
    `words` stand along the x axis in place of 0, 1, 2, ..."""
    curves = [(name, [p for p in points if (p[0] > 0 or not log_x) and (p[1] > 0 or not log_y)])
              for name, points in curves]
    curves = [(name, points) for name, points in curves if points]
    values = [point for _, points in curves for point in points]
    if not values:
        return None
    low, high = min(v[1] for v in values), max(v[1] for v in values)
    ends = (-0.5, len(words) - 0.5) if words else (min(v[0] for v in values),
                                                   max(v[0] for v in values))
    x = Axis(*ends, LEFT, RIGHT, log_x)
    y = (Axis(low / 1.1, high * 1.1, BOTTOM, TOP, True) if log_y else
         Axis(min(low, 0) if zero else low, high, BOTTOM, TOP))
    marks = None
    if words:
        marks = list(enumerate(words))
    elif log_x:  # the values themselves, numbers of ranks for example
        marks = [(value, "%g" % value if value < 1e4 else short(value))
                 for value in sorted({v[0] for v in values})]
    parts = frame(x, y, x_name, y_name, marks)
    names = list(dict.fromkeys(name for name, _ in curves))
    colors = [DASHED if name in dashed else color_of(i) for i, name in enumerate(names)]
    for name, points in curves:
        color = colors[names.index(name)]
        path = "L".join("%.1f %.1f" % (x.at(a), y.at(b)) for a, b in points)
        dash = ' stroke-dasharray="5 4"' if name in dashed else ""
        parts.append('<path d="M%s" class="curve" stroke="%s"%s/>' % (path, color, dash))
        if len(points) < 40 and name not in dashed:
            parts += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (x.at(a), y.at(b), color)
                      for a, b in points]
    return Picture(title, parts, names, colors=colors)


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
            parts.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>' %
                         (middle - width * 0.3, y.at(base + value), width * 0.6,
                          y.at(base) - y.at(base + value), color_of(k)))
            base += value
        parts.append(text(middle, BOTTOM + 17, "middle", label[:max(4, int(width / 7))]))
    return Picture(title, parts, names)


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
                     (begin, TOP + row * k + 5, max(0.5, end - begin), row - 8, color_of(k),
                      html.escape(span["name"]), span["end"] - span["begin"]))
    parts.append('<path d="M%d %dV%dH%d" class="frame"/>' % (left, TOP, bottom, RIGHT))
    parts.append(text((left + RIGHT) / 2, bottom + 38, "middle", "ms from the start"))
    return Picture(title, parts, names, height=bottom + 48)
