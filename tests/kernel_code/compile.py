"""Measures the code of kernels: as bazel/cuda.bzl compiled them, or compiled alike."""
import collections
import glob
import os
import re
import shutil
import subprocess
import sysconfig

from listing import read_ptx, read_sass
from measures import occupancy, traffic

CUDA = "/usr/local/cuda/bin/"
FLAGS = ["-std=c++17", "-O3", "-DNDEBUG", "--expt-relaxed-constexpr"]
THREADS = 256  # of a block, where the kernel does not say: kThreads

# name: demangled. spills: bytes of the stack and of registers stored there. threads: that a
# multiprocessor runs at a time. ptx, sass: Traffic; sass is None without nvdisasm.
Kernel = collections.namedtuple("Kernel", "name registers spills shared threads ptx sass")


def nvdisasm():
    """The path of nvdisasm, or None: from GF_NVDISASM, CUDA, PATH, or the package for Python."""
    package = os.path.join(sysconfig.get_paths()["purelib"], "nvidia/cu13/bin/nvdisasm")
    for path in (os.environ.get("GF_NVDISASM"), CUDA + "nvdisasm", shutil.which("nvdisasm"),
                 package):
        if path and os.access(path, os.X_OK):
            return path
    return None


def run(*command, folder=None):
    """What it prints. Throws with all of it if it fails. Temporary files go to the folder: nvcc
    names them after process numbers, which repeat across sandboxes."""
    env = dict(os.environ, TMPDIR=folder) if folder else None
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=env)
    if done.returncode != 0:
        raise RuntimeError("%s: exit code %d\n%s" %
                           (" ".join(command), done.returncode, done.stdout))
    return done.stdout


def demangled(names):
    """In the same order, without namespaces and parameters."""
    plain = subprocess.run(["c++filt"], input="\n".join(names), stdout=subprocess.PIPE, text=True,
                           check=True).stdout.splitlines()
    plain = [re.sub(r"\(anonymous namespace\)::|\bgf::|^void ", "", name) for name in plain]
    return [without_parameters(name) for name in plain]


def without_parameters(name):
    depth = 0
    for i, c in enumerate(name):
        if c == "(" and depth == 0:
            return name[:i]
        depth += (c in "<(") - (c in ">)")
    return name


# "ptxas -v" says of a kernel; nothing of shared memory where there is none.
RESOURCES = re.compile(r"entry function '(\w+)' for '(\w+)'.*?(\d+) bytes stack frame, "
                       r"(\d+) bytes spill stores, (\d+) bytes spill loads.*?"
                       r"Used (\d+) registers([^\n]*)", re.DOTALL)


def compiled(source, arch, folder, include):
    """[Kernel] of a .cu file. Headers are looked for in the folder `include`, then here."""
    ptx = os.path.join(folder, "code.ptx")
    run(CUDA + "nvcc", *FLAGS, "-arch=" + arch, "-I" + include, "-I.", "-ptx", source, "-o", ptx,
        folder=folder)
    cubin = os.path.join(folder, "code.cubin")
    said = run(CUDA + "ptxas", "-arch=" + arch, "-O3", "-v", ptx, "-o", cubin, folder=folder)
    return measured(ptx, cubin, said, arch)


def built(source, arch):
    """[Kernel] of a .cu file as bazel/cuda.bzl compiled it, or None: not for this architecture."""
    folder, name = os.path.split(source)
    stem = name[:-len(".cu")]
    codes = glob.glob(os.path.join(folder, "_cuda", "*", stem + ".code"))
    if len(codes) != 1:
        raise RuntimeError("%s: expected one folder of code, found %s" % (source, codes))
    cubins = glob.glob("%s/%s.*%s*.cubin" % (codes[0], stem, arch[len("sm_"):]))
    if not cubins:
        return None
    if len(cubins) > 1:
        raise RuntimeError("%s: several files of code for %s: %s" % (source, arch, cubins))
    with open(os.path.join(codes[0], "ptxas.txt")) as file:
        said = file.read()
    ptx = "%s/%s.compute_%s.ptx" % (codes[0], stem, arch[len("sm_"):])
    return measured(ptx, cubins[0], said, arch)


def measured(ptx, cubin, said, arch):
    """[Kernel] of a file's PTX and code; said: by "ptxas -v" of this and other architectures."""
    with open(ptx) as file:
        codes = read_ptx(file.read())
    disassemble = nvdisasm()
    sass = read_sass(run(disassemble, "-c", cubin)) if disassemble else {}
    kernels = []
    resources = [r[:1] + r[2:] for r in RESOURCES.findall(said) if r[1] == arch]
    for plain, values in zip(demangled([r[0] for r in resources]), resources):
        name, stack, stores, loads, registers, rest = values
        shared = re.search(r"(\d+) bytes smem", rest)
        shared = int(shared.group(1)) if shared else 0
        body, threads = codes.pop(name)
        kernels.append(Kernel(
            plain, int(registers), max(int(stack), int(stores), int(loads)), shared,
            occupancy(arch, threads or THREADS, int(registers), shared), traffic(body),
            traffic(sass[name]) if sass else None))
    if codes:
        raise RuntimeError("ptxas says nothing of " + ", ".join(codes))
    return sorted(kernels)
