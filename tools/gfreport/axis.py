"""Axes of pictures: from values to pixels, ticks and their words."""
import math

# Okabe and Ito's palette, which color-blind people can tell apart.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "currentColor")


def color_of(i):
    return COLORS[i % len(COLORS)]


def short(value):
    """1500000 -> 1.5M"""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if abs(value) >= unit:
            return "%.4g%s" % (value / unit, name)
    return "%.4g" % value


def binary(value):
    """65536 -> 64 KiB"""
    for unit, name in ((2 ** 30, "GiB"), (2 ** 20, "MiB"), (2 ** 10, "KiB")):
        if abs(value) >= unit:
            return "%.4g %s" % (value / unit, name)
    return "%.4g B" % value


class Axis:
    """From values to pixels."""

    def __init__(self, low, high, first, last, log=False):
        if high <= low:
            low, high = (low / 2, low * 2) if log else (low - 1, high + 1)
        self.low, self.high, self.first, self.last, self.log = low, high, first, last, log

    def at(self, value):
        if self.log:
            low = math.log(self.low)
            share = (math.log(value) - low) / (math.log(self.high) - low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.first + share * (self.last - self.first)

    def ticks(self):
        if self.log and self.high >= 8 * self.low:
            lowest, highest = math.log10(self.low), math.log10(self.high)
            # Over many decades, every tenth part of them is enough.
            every = max(1, math.ceil((highest - lowest) / 10))
            exponents = range(math.floor(lowest), math.ceil(highest) + 1, every)
            digits = (1, 2, 5) if every == 1 else (1,)
            ticks = [m * 10.0 ** e for e in exponents for m in digits]
            return [t for t in ticks if self.low * 0.999 <= t <= self.high * 1.001]
        raw = (self.high - self.low) / 6
        unit = 10.0 ** math.floor(math.log10(raw))
        step = unit * next(m for m in (1, 2, 5, 10) if m * unit >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [step * i for i in range(first, int(math.floor(self.high / step + 1e-9)) + 1)][:50]
