"""The table of bounds: which row a kernel belongs to, and what of it the kernel does not keep."""
import collections
import re

TYPES = {"float": "fp32", "__half": "fp16", "__nv_bfloat16": "bf16"}
COLUMNS = "registers load flight store threads calls divisions".split()
UPPER = {"registers", "calls", "divisions"}

# words: of the kernel's name, all of them; types: of which it has one, empty: no matter.
# limits: {column: number}.
Row = collections.namedtuple("Row", "words types limits text")


def words_of(name):
    """Of a demangled name; numbers as fp32, fp16 and bf16."""
    return {TYPES.get(word, word) for word in re.findall(r"\w+", name)}


def read(path):
    """{.cu file: [Row]}, in the file's order."""
    sections, rows = {}, None
    with open(path) as file:
        for line in file:
            line = line.split("#")[0].strip()
            section = re.match(r"\[(.*)\]$", line)
            if section:
                rows = sections.setdefault(section.group(1), [])
            elif line:
                kernel, types, *limits = re.split(r"  +", line)
                limits += ["0"] * (len(COLUMNS) - 1 == len(limits))
                assert len(limits) == len(COLUMNS), line
                limits = {c: int(v) for c, v in zip(COLUMNS, limits) if v != "-"}
                rows.append(Row(set(kernel.split()), set(types.split(",")) - {"any"}, limits, line))
    return sections


def row_of(kernel, rows):
    """The first row that fits, or None."""
    words = words_of(kernel.name)
    for row in rows:
        if row.words <= words and (not row.types or row.types & words):
            return row
    return None


def broken(kernel, row):
    """What this kernel does not keep, in words. `flight` and `calls` are read from SASS alone."""
    found = ["%d bytes of spilled registers or stack" % kernel.spills] if kernel.spills else []
    values = [("", {"registers": kernel.registers, "threads": kernel.threads,
                    "load": kernel.ptx.load, "store": kernel.ptx.store,
                    "divisions": kernel.ptx.divisions})]
    if kernel.sass:
        values.append((" in SASS", kernel.sass._asdict()))
    for where, measured in values:
        for column, limit in row.limits.items():
            value = measured.get(column)
            if value is None or (value <= limit if column in UPPER else value >= limit):
                continue
            found.append("%s%s: %d, %s %d" % (column, where, value,
                                             "most" if column in UPPER else "least", limit))
    return found
