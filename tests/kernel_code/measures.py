"""What the code of a kernel says of its speed."""
import collections

# load: bytes that the widest load of global memory brings to a thread. flight: loads of that width
# under way at a time, in the loop with such loads where they are fewest. store: bytes of the widest
# store in a loop with such loads, where it is least; without such a loop, of the widest store
# anywhere. calls: of functions in a loop, where they are most. divisions: of integers of 64 bits,
# anywhere, by PTX.
Traffic = collections.namedtuple("Traffic", "load flight store calls divisions", defaults=(0,))

# Of a multiprocessor (CUDA Programming Guide, "Compute Capabilities"); reserved: bytes of shared
# memory per block that a kernel does not see.
Multiprocessor = collections.namedtuple(
    "Multiprocessor", "threads blocks registers shared reserved")
MULTIPROCESSORS = {
    "sm_80": Multiprocessor(2048, 32, 65536, 164 << 10, 1 << 10),
    "sm_90": Multiprocessor(2048, 32, 65536, 228 << 10, 1 << 10),
}


def occupancy(arch, threads, registers, shared):
    """Threads that a multiprocessor runs at a time, in whole blocks of `threads`."""
    gpu = MULTIPROCESSORS[arch]
    warps = (threads + 31) // 32
    # Each of four schedulers has a quarter of the registers; a warp takes them in units of 256.
    per_warp = (max(registers, 1) * 32 + 255) // 256 * 256
    by_registers = gpu.registers // 4 // per_warp * 4 // warps
    by_shared = gpu.shared // ((shared + 127) // 128 * 128 + gpu.reserved)
    return min(gpu.threads // threads, gpu.blocks, by_registers, by_shared) * threads


def innermost_loops(body):
    """Lists of instructions: from a label to the last branch back to it, with no loop inside."""
    labels = {code.label: i for i, code in enumerate(body) if code.label}
    ends = {}
    for i, code in enumerate(body):
        begin = labels.get(code.target, i) if code.target else i
        # A label before a branch alone is what fills up the end of a function.
        if begin < i and any(c.label is None for c in body[begin:i]):
            ends[begin] = i
    loops = ends.items()
    return [body[begin:end + 1] for begin, end in sorted(loops)
            if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in loops)]


def loads_in_flight(loop, width):
    """The most loads of this width that are under way before the value of one is used."""
    most, waiting = 0, []
    for code in loop + loop:  # values may be used in the next turn
        used = [i for i, load in enumerate(waiting) if load & code.registers]
        if used:
            waiting = waiting[used[-1] + 1:]  # loads end in their order
        if code.load == width:
            waiting.append(code.defines)
            most = max(most, len(waiting))
    return most


def traffic(body):
    load = max((code.load for code in body), default=0)
    loops = innermost_loops(body)
    loading = [loop for loop in loops if any(code.load == load for code in loop)]
    flight = 0
    if load:
        flight = min(loads_in_flight(loop, load) for loop in loading or [body])
    storing = [max(code.store for code in loop) for loop in loading]
    widest = max((code.store for code in body), default=0)
    store = min((width for width in storing if width), default=widest)
    calls = max((sum(code.call for code in loop) for loop in loops), default=0)
    return Traffic(load, flight, store, calls, sum(code.divides for code in body))
