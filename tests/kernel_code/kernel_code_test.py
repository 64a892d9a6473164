"""What nvcc makes of the project's kernels keeps the bounds of bounds.txt, for the GPU's
architecture in the first argument; and code that is worse does not."""
import os
import sys
import tempfile
import unittest

import bounds
from compile import built, compiled, nvdisasm

ROOTS = ["comm", "core", "layers", "solvers"]
TABLE = os.path.join(os.path.dirname(__file__), "bounds.txt")
LINE = "%-62.62s %4s %6s %5s  %-12s %-7s %4s"


def sources():
    """All .cu files that the test was given."""
    return sorted(os.path.join(folder, name) for root in ROOTS
                  for folder, _, names in os.walk(root) for name in names if name.endswith(".cu"))


def report(kernels):
    print(LINE % ("kernel", "regs", "shared", "load", "in flight", "store", "calls"), end="")
    print("  threads   KiB in flight of a multiprocessor")
    for k in kernels:
        sass = k.sass
        print(LINE % (k.name, k.registers, k.shared, k.ptx.load, sass.flight if sass else "?",
                      k.ptx.store, sass.calls if sass else "?"), end="")
        kib = "%.0f" % (k.ptx.load * sass.flight * k.threads / 1024) if sass else "?"
        print("  %7d   %s" % (k.threads, kib))


class KernelCodeTest(unittest.TestCase):
    arch = "sm_90"

    def built(self, source):
        kernels = built(source, self.arch)
        if kernels is None:
            self.skipTest("//bazel:cuda_archs leaves out %s: its code is not checked" % self.arch)
        return kernels

    def broken(self, kernels, rows):
        """Lines about the kernels, and about rows without one."""
        wrong, met = [], {}
        for kernel in kernels:
            row = bounds.row_of(kernel, rows)
            if row is None:
                wrong.append("%s has no row in bounds.txt" % kernel.name)
                continue
            met.setdefault(row.text, set()).update(row.types & bounds.words_of(kernel.name))
            wrong += ["%s: %s" % (kernel.name, what) for what in bounds.broken(kernel, row)]
        for row in rows:
            if row.text not in met or row.types - met[row.text]:
                wrong.append("no kernel for the row: %s" % row.text)
        return wrong

    def test_kernels_keep_their_bounds(self):
        table = bounds.read(TABLE)
        self.assertEqual(sources(), sorted(table), "files, and sections of bounds.txt")
        wrong, count = [], 0
        for source in sources():
            kernels = self.built(source)
            print("\n%s, %s" % (source, self.arch))
            report(kernels)
            count += len(kernels)
            wrong += ["%s: %s" % (source, line) for line in self.broken(kernels, table[source])]
        print("\n%d kernels, %d bounds broken" % (count, len(wrong)))
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    @unittest.skipIf(nvdisasm() is None,
                     "no nvdisasm: loads in flight and calls in SASS are not checked; PyPI's "
                     "nvidia-cuda-nvdisasm has it, GF_NVDISASM says where it is")
    def test_code_is_disassembled(self):
        for kernel in self.built("comm/nccl/add_kernels.cu"):
            self.assertEqual(kernel.sass.load, kernel.ptx.load, kernel.name)
            self.assertEqual(kernel.sass.store, kernel.ptx.store, kernel.name)

    # --- controls ---------------------------------------------------------------------------

    def expect_broken(self, source, words, what, file, old, new):
        """`what` is found in every kernel with these words, after a change to `file`."""
        count = 0
        with tempfile.TemporaryDirectory() as folder:
            with open(file) as original:
                text = original.read()
            self.assertIn(old, text)
            changed = os.path.join(folder, file)
            os.makedirs(os.path.dirname(changed))
            with open(changed, "w") as copy:
                copy.write(text.replace(old, new))
            kernels = compiled(changed if file == source else source, self.arch, folder, folder)
        for kernel in kernels:
            if not set(words.split()) <= bounds.words_of(kernel.name):
                continue
            count += 1
            row = bounds.row_of(kernel, bounds.read(TABLE)[source])
            self.assertIn(what, " ".join(bounds.broken(kernel, row)), kernel.name)
        self.assertGreater(count, 0)

    def test_narrow_loads_are_found(self):
        self.expect_broken("layers/cuda/relu_kernels.cu", "Map", "load: ",
                           "core/cuda/numbers_inline.h",
                           "struct alignas(sizeof(T) * kCount) Pack", "struct Pack")

    def test_spilled_registers_are_found(self):
        self.expect_broken("layers/cuda/batch_norm_gradient_kernels.cu", "SumColumnsKernel 8",
                           "bytes of spilled registers", "layers/cuda/column_sums_inline.h",
                           "(kThreads, F::kBlocks)", "(kThreads, 8)")

    def test_low_occupancy_is_found(self):
        self.expect_broken("layers/cuda/relu_kernels.cu", "Clip", "threads: ",
                           "core/cuda/launch_inline.h", "int kThreads = 256", "int kThreads = 768")

    @unittest.skipIf(nvdisasm() is None, "no nvdisasm")
    def test_rows_that_are_loaded_one_at_a_time_are_found(self):
        source = "layers/cuda/bias_kernels.cu"
        self.expect_broken(source, "SumColumnsKernel Gradient 8", "flight in SASS: ", source,
                           "kRows = kRelu ? 2 : 4", "kRows = 1")


if __name__ == "__main__":
    KernelCodeTest.arch = sys.argv.pop(1)
    unittest.main()
