"""Kernels as lists of instructions: read from PTX, and from what nvdisasm prints of SASS."""
import collections
import re

# label: where branches go to, or None; target: the label of a branch, or None. registers: all that
# it names; defines: those that a load sets. load, store: bytes of global memory that a thread
# moves, or 0. call: of a function, such as a division without an instruction of its own. divides:
# an integer of 64 bits, which takes a GPU about 100 instructions.
Instruction = collections.namedtuple(
    "Instruction", "label target registers defines load store call divides",
    defaults=(None, None, frozenset(), frozenset(), 0, 0, False, False))

PTX_TYPE = re.compile(r"\.[usbf](8|16|32|64|128)\b")
PTX_REGISTER = re.compile(r"%\w+")
SASS_REGISTER = re.compile(r"\bU?R\d+\b")
SASS_WIDTH = re.compile(r"\.[US]?(8|16|32|64|128|256)\b")


def ptx_instruction(text):
    """Of one statement without its semicolon and predicate."""
    opcode = text.split(None, 1)[0]
    width = 0
    if re.match(r"(ld|st)(\.\w+)*\.global\b", opcode):
        width = int(PTX_TYPE.search(opcode).group(1)) // 8
        vector = re.search(r"\.v([248])\b", opcode)
        width *= int(vector.group(1)) if vector else 1
    is_load = opcode.startswith("ld")
    target = re.search(r"\bbra(?:\.uni)?\s+(\S+)$", text)
    return Instruction(
        target=target and target.group(1), registers=frozenset(PTX_REGISTER.findall(text)),
        defines=frozenset(PTX_REGISTER.findall(text.split("[")[0]) if is_load else ()),
        load=width if is_load else 0, store=0 if is_load else width, call=opcode.startswith("call"),
        divides=bool(re.match(r"(div|rem)\.[su]64", opcode)))


def read_ptx(text):
    """{mangled name: ([Instruction], most threads of a block or None)} of each kernel."""
    kernels = {}
    text = re.sub(r"//[^\n]*", "", text)
    for entry in re.finditer(r"\.entry\s+(\w+)\s*\((.*?)\n\{(.*?)\n\}\n", text, re.DOTALL):
        name, head, code = entry.groups()
        body = []
        code = re.sub(r"\{([^{}\n]*)\}(?=[,;\s])", r"<\1>", code)  # braces of vectors
        for statement in re.split(r"[;{}\n]", code):
            statement = re.sub(r"^@!?%\w+\s+", "", statement.strip())
            label = re.match(r"(\$?\w+):$", statement)
            if label:
                body.append(Instruction(label=label.group(1)))
            elif statement and not statement.startswith("."):
                body.append(ptx_instruction(statement))
        threads = re.search(r"\.maxntid\s+(\d+)", head)
        kernels[name] = body, threads and int(threads.group(1))
    return kernels


def sass_instruction(text):
    """Of one instruction without its address, predicate and semicolon."""
    opcode, _, operands = text.partition(" ")
    width = 0
    if re.match(r"(LDG|STG)\b", opcode):
        bits = SASS_WIDTH.search(opcode)
        width = int(bits.group(1)) // 8 if bits else 4
    is_load = opcode.startswith("LDG")
    defines = ()
    if is_load:
        first = int(re.search(r"\bR(\d+)", operands.split(",")[0]).group(1))
        defines = ("R%d" % r for r in range(first, first + max(1, width // 4)))
    target = re.search(r"`\((\.L\w+)\)", text) if opcode.startswith("BRA") else None
    return Instruction(
        target=target and target.group(1), registers=frozenset(SASS_REGISTER.findall(operands)),
        defines=frozenset(defines), load=width if is_load else 0, store=0 if is_load else width,
        # To a label without "$" it is a branch.
        call=opcode.startswith("CALL") and "`($" in text)


def read_sass(text):
    """{mangled name: [Instruction]} of each kernel, without the functions that it calls."""
    kernels, body = {}, None
    for line in text.splitlines():
        section = re.match(r"\.text\.(\w+):", line)
        label = re.match(r"(\.L\w+):", line)
        code = re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([^;]+?)\s*;", line)
        if section:
            body = kernels.setdefault(section.group(1), [])
        elif line.startswith("$"):  # a function
            body = None
        elif body is not None and label:
            body.append(Instruction(label=label.group(1)))
        elif body is not None and code:
            body.append(sass_instruction(code.group(1)))
    return kernels
