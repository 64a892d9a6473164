"""How long runs took to an accuracy, and what that cost."""
from runs import UserError, is_number

HEADER = ["run", "top-1, %", "epoch", "time, s", "cost"]


def parse_target(text):
    """0.93 or 93% as a share."""
    try:
        target = round(float(text[:-1]) / 100, 12) if text.endswith("%") else float(text)
    except ValueError:
        target = 0
    if not 0 < target <= 1:
        raise UserError("--target=%s: expected a top-1 accuracy, such as 0.93 or 93%%" % text)
    return target


def parse_price(text):
    try:
        price = float(text)
    except ValueError:
        price = -1
    if not 0 <= price <= 1e9:
        raise UserError("--price_per_hour=%s: expected a price, such as 12.5, of all machines of a "
                        "job for an hour" % text)
    return price


def reached(run, target):
    """(epoch, seconds) of the first validation with this top-1 or more; None: there is none."""
    for record in run.validation:
        values = [record.get(name) for name in ("top1", "epoch", "spent_s")]
        if all(map(is_number, values)) and values[0] >= target:
            return values[1], values[2]
    return None


def common_target(runs):
    """The best top-1 of the run whose best is the lowest; None if a run has no validation."""
    best = [max((y for _, y in run.series("validation", "epoch", "top1")), default=None)
            for run in runs]
    return None if not best or None in best else min(best)


def rows(runs, target, price):
    """A row of HEADER for each run. price: of an hour; None: the cost is left out."""
    result = []
    for run in runs:
        point = reached(run, target)
        cost = "" if price is None or point is None else "%.4g" % (price * point[1] / 3600)
        where = ["not reached", ""] if point is None else ["%.2f" % point[0], "%.1f" % point[1]]
        result.append([run.name, "%.2f" % (100 * target)] + where + [cost])
    return result


def text(lines):
    """A table of HEADER as text, without the column of costs if it is empty."""
    lines = [HEADER] + lines
    columns = [column for column in zip(*lines) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n"
                   for row in zip(*columns))
