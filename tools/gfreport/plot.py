"""Pictures in SVG: curves with axes, units, ticks and a legend; bars.py has bars and lanes.

Each function returns a Picture, or None where there is nothing to draw. figure() makes it a part of
an HTML page, document() a file of its own.
"""
import html
import json
import math

from axis import Axis, color_of, short

WIDTH, HEIGHT = 560, 320
LEFT, RIGHT, TOP, BOTTOM = 74, 520, 14, 268
DASHED = "#777"
# How the classes of the parts look; a page and a document have it once.
STYLE = """.grid { stroke: #ddd; } .frame { stroke: #000; fill: none; }
.curve { fill: none; stroke-width: 2; } .span { stroke: #fff; stroke-width: .5; }
.best { fill: none; stroke: currentColor; stroke-width: 1.5; }
"""


def text(x, y, anchor, words, extra=""):
    return '<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>' % (x, y, anchor, extra,
                                                                     html.escape(words))


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
        # A long word at the right end moves left, so that the picture does not cut it.
        middle = min(x.at(value), WIDTH - 4 * len(word) - 2)
        if middle - 4 * len(word) > end:
            parts.append(text(middle, BOTTOM + 17, "middle", word))
            end = middle + 4 * len(word)
    parts.append('<path d="M%d %dV%dH%d" class="frame"/>' % (LEFT, TOP, BOTTOM, RIGHT))
    parts.append(text((LEFT + RIGHT) / 2, BOTTOM + 38, "middle", x_name))
    parts.append(text(0, 0, "middle", y_name,
                      ' transform="translate(14 %.1f) rotate(-90)"' % ((TOP + BOTTOM) / 2)))
    return parts


class Picture:
    """Parts of an SVG picture WIDTH pixels wide, and the names that its colors stand for.

    points: what a pointer over the picture shows, [(name, color, [(x, y, words)])] in pixels.
    beside: in a document the legend is to the right of the picture, not below it.
    """

    def __init__(self, title, parts, names, height=HEIGHT, colors=None, points=(), beside=False):
        self.title, self.parts, self.names, self.height = title, parts, names, height
        self.colors = colors or [color_of(i) for i in range(len(names))]
        self.points, self.beside = points, beside


def figure(picture):
    """A part of an HTML page; "" for None. hover.js reads data-points."""
    if picture is None:
        return ""
    legend = "".join('<span><i style="background:%s"></i>%s</span>' % (color, html.escape(name))
                     for name, color in zip(picture.names, picture.colors))
    points = ""
    if picture.points:
        points = ' data-points="%s"' % html.escape(json.dumps(
            [[name, color, [[round(x, 1), round(y, 1), words] for x, y, words in points]]
             for name, color, points in picture.points], separators=(",", ":")), quote=True)
    return ('<figure><figcaption>%s</figcaption><svg viewBox="0 0 %d %d" role="img" '
            'aria-label="%s"%s>%s</svg><p class="legend">%s</p></figure>' %
            (html.escape(picture.title), WIDTH, picture.height,
             html.escape(picture.title, quote=True), points, "".join(picture.parts), legend))


def document(picture):
    """A whole SVG file: the title above, the legend beside or below."""
    above, row = 30, 18
    width, height = WIDTH, above + picture.height + 8
    left, top = LEFT, above + picture.height
    if picture.beside:
        left, top = WIDTH + 4, above + TOP + 6
        width += 30 + 8 * max(len(name) for name in picture.names)
        height = max(height, top + row * len(picture.names) + 8)
    else:
        height += row * len(picture.names)
    # A title that is wider than the picture is made to fit.
    fit = ' textLength="%d" lengthAdjust="spacingAndGlyphs"' % (width - 16)
    parts = [text(width / 2, 20, "middle", picture.title, ' font-weight="600"' +
                  (fit if 8 * len(picture.title) > width - 16 else "")),
             '<g transform="translate(0 %d)">%s</g>' % (above, "".join(picture.parts))]
    for i, (name, color) in enumerate(zip(picture.names, picture.colors)):
        y = top + row * i
        parts.append('<rect x="%d" y="%d" width="12" height="12" fill="%s"/>' % (left, y, color))
        parts.append(text(left + 18, y + 11, "start", name))
    return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" '
            'font-family="sans-serif" font-size="13"><style>%s</style>'
            '<rect width="100%%" height="100%%" fill="white"/>%s</svg>\n' %
            (width, height, width, STYLE, "\n".join(parts)))


def mark_best(x, y, best, word):
    """A ring around the best point, and its name above or, near the top, below it."""
    a, b = x.at(best[0]), y.at(best[1])
    half = 4 * len(word)
    middle = min(max(a, LEFT + half), WIDTH - half)
    return ['<circle cx="%.1f" cy="%.1f" r="7" class="best"/>' % (a, b),
            text(middle, b - 12 if b - 24 > TOP else b + 22, "middle", word)]


def lines(title, x_name, y_name, curves, zero=True, log_x=False, log_y=False, dashed=(), words=(),
          x_word=None, best=None, ends=None):
    """curves: [(name, [(x, y)])]; curves of one name share a color. Axes that are not logarithmic
    start at 0, the y axis only if `zero`. `words` stand along the x axis in place of 0, 1, 2, ...;
    x_word(value) writes the values of a logarithmic one. `best`: (x, y) of a point to mark. `ends`:
    of the y axis, in place of the least and the greatest value."""
    curves = [(name, [p for p in points if (p[0] > 0 or not log_x) and (p[1] > 0 or not log_y)])
              for name, points in curves]
    curves = [(name, points) for name, points in curves if points]
    values = [point for _, points in curves for point in points]
    if not values:
        return None
    low, high = ends or (min(v[1] for v in values), max(v[1] for v in values))
    first, last = min(v[0] for v in values), max(v[0] for v in values)
    if words:
        first, last = -0.5, len(words) - 0.5
    elif not log_x:
        first = min(first, 0)
    x = Axis(first, last, LEFT, RIGHT, log_x)
    y = (Axis(low / 1.1, high * 1.1, BOTTOM, TOP, True) if log_y else
         Axis(min(low, 0) if zero else low, high, BOTTOM, TOP))
    x_word = x_word or (lambda value: "%g" % value if value < 1e4 else short(value))
    marks = None
    if words:
        marks = list(enumerate(words))
    elif log_x:  # the values themselves, numbers of ranks for example
        marks = [(value, x_word(value)) for value in sorted({v[0] for v in values})]
    parts = frame(x, y, x_name, y_name, marks)
    names = list(dict.fromkeys(name for name, _ in curves))
    colors = [DASHED if name in dashed else color_of(i) for i, name in enumerate(names)]
    hover = []
    for name, points in curves:
        color = colors[names.index(name)]
        path = "L".join("%.1f %.1f" % (x.at(a), y.at(b)) for a, b in points)
        dash = ' stroke-dasharray="5 4"' if name in dashed else ""
        parts.append('<path d="M%s" class="curve" stroke="%s"%s/>' % (path, color, dash))
        if len(points) < 40 and name not in dashed:
            parts += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (x.at(a), y.at(b), color)
                      for a, b in points]
        hover.append((name, color, sorted(
            (x.at(a), y.at(b), "%s %s: %.5g" % (x_name, words[int(a)] if words else x_word(a), b))
            for a, b in points)))
    if best is not None:
        name = words[int(best[0])] if words else x_word(best[0])
        parts += mark_best(x, y, best, "best: %s" % name)
    return Picture(title, parts, names, colors=colors, points=hover, beside=True)
