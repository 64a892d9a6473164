"""Which method tools/gfsim/map_methods calls the winner, and what it reads from gfsim."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import unittest

TOOL = "tools/gfsim/map_methods"
loader = importlib.machinery.SourceFileLoader("map_methods", TOOL)
spec = importlib.util.spec_from_loader("map_methods", loader)
map_methods = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
loader.exec_module(map_methods)

# What gfsim prints, shortened.
PRINTED = """  cluster                   map, 8 ranks on 8 nodes
  exchange                  AUTO takes SPARSE 0.02 / 16, auto, 2.44 MB per step
  step                         129.24 ms  100.0 %

comm.mode AUTO: SPARSE 0.02 / 16
  compute 128.0 ms, a step with LAZY FP32 took 1908.1 ms
  at most 5 % of compute may be exposed, and a step may be 5 % longer than the fastest
                      buckets       sent arithmetic, ms exposed, ms   step, ms  verdict
  LAZY FP32                 -          -              -           -          -  left out: BF16
  LAZY BF16                 4     122 MB            0.0      1780.1     1908.1  1376.9 % slower
  QUANTIZED 4 rotated       4    31.5 MB            1.3       420.8      550.1  325.8 % slower
  SPARSE 0.02              11    2.44 MB            0.0         2.1      129.2  taken
  LOW_RANK 1                4     168 kB            2.1         3.5      133.6  stronger than needed
"""


def prices(methods, nothing=100.0, auto=None):
    return map_methods.Prices(nothing, methods, auto or methods[0][0])


class RuleTest(unittest.TestCase):
    def test_the_mildest_within_five_percent_of_the_fastest_wins(self):
        steps = [("LAZY FP32", 200.0), ("SPARSE 0.3", 106.0), ("SPARSE 0.15", 105.0),
                 ("SPARSE 0.05", 101.0), ("TOPK 0.01", 100.0)]
        self.assertEqual(map_methods.winner(steps), ("SPARSE 0.15", 105.0))

    def test_a_stronger_method_wins_if_all_milder_ones_are_slower(self):
        steps = [("LAZY FP32", 200.0), ("SPARSE 0.3", 150.0), ("TOPK 0.01", 100.0)]
        self.assertEqual(map_methods.winner(steps), ("TOPK 0.01", 100.0))

    def test_the_fastest_counts_even_where_it_is_faster_than_no_exchange(self):
        # SPARSE updates fewer weights: 94 ms where a step that exchanges nothing takes 100.
        steps = [("LAZY FP32", 100.0), ("SPARSE 0.02", 94.0)]
        self.assertEqual(map_methods.winner(steps)[0], "SPARSE 0.02")


class CellTest(unittest.TestCase):
    def test_where_lazy_wins_the_cell_says_dense(self):
        self.assertEqual(map_methods.cell(prices([("LAZY BF16", 104.0), ("TOPK 0.01", 100.0)])),
                         "**dense** BF16 (1.04)")

    def test_a_compressor_is_compared_with_the_best_lazy(self):
        steps = [("LAZY FP32", 900.0), ("LAZY BF16", 450.0), ("SPARSE 0.3", 150.0)]
        self.assertEqual(map_methods.cell(prices(steps)), "SPARSE 0.3, 3.0 x (1.50)")

    def test_periodic_is_no_lazy(self):
        steps = [("LAZY BF16", 5000.0), ("PERIODIC 8", 100.0)]
        self.assertEqual(map_methods.cell(prices(steps)), "PERIODIC 8, 50 x (1.00)")


class ParseTest(unittest.TestCase):
    def test_steps_of_all_priced_rungs_in_their_order(self):
        read = map_methods.parse(PRINTED)
        self.assertEqual(read.nothing, 128.0)
        self.assertEqual(read.auto, "SPARSE 0.02")
        self.assertEqual(read.methods, [("LAZY BF16", 1908.1), ("QUANTIZED 4 rotated", 550.1),
                                        ("SPARSE 0.02", 129.2), ("LOW_RANK 1", 133.6)])

    def test_a_table_without_the_rung_that_auto_takes_is_refused(self):
        with self.assertRaisesRegex(ValueError, "lacks SPARSE 0.02"):
            map_methods.parse(PRINTED.replace("  SPARSE 0.02  ", "  SPARSE 0.02, "))

    def test_a_job_of_another_mode_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no table of AUTO"):
            map_methods.parse(PRINTED.partition("comm.mode")[0])


class TableTest(unittest.TestCase):
    devices = [map_methods.Device("CPU", 10, 32, "FP32", 10),
               map_methods.Device("GPU", 10000, 128, "BF16", 1240)]
    links = [map_methods.Link("slow", 0.1, 1), map_methods.Link("fast", 100, 1)]

    def setUp(self):
        slow, fast = self.links
        self.prices = {
            (self.devices[0], slow): prices([("LAZY FP32", 400.0), ("TOPK 0.01", 110.0)],
                                            auto="TOPK 0.01"),
            (self.devices[0], fast): prices([("LAZY FP32", 101.0), ("TOPK 0.01", 100.0)]),
            (self.devices[1], slow): prices([("LAZY BF16", 300.0), ("TOPK 0.01", 20.0)], 10.0,
                                            auto="TOPK 0.01"),
            (self.devices[1], fast): prices([("LAZY BF16", 12.0), ("TOPK 0.01", 10.0)], 10.0),
        }

    def test_rows_are_devices_and_columns_links(self):
        self.assertEqual(list(map_methods.table(self.devices, self.links, self.prices)), [
            "| images/s | nothing | slow | fast |",
            "|---|---|---|---|",
            "| CPU, 10 | 100 ms | TOPK 0.01, 3.6 x (1.10) | **dense** FP32 (1.01) |",
            "| GPU, 10,000 | 10 ms | TOPK 0.01, 15 x (2.00) | TOPK 0.01, 1.2 x (1.00) |"])

    def test_cells_in_which_auto_differs_are_named(self):
        self.assertEqual(map_methods.summary(self.devices, self.links, self.prices), [
            "Compression is useless in 1 of 4 cells. AUTO takes another method in 1:",
            "  10,000 images/s, fast: LAZY BF16, a step +20 %"])


class SimulatedTest(unittest.TestCase):
    """With gfsim itself."""

    @staticmethod
    def run_tool(*arguments):
        path = os.path.abspath("tools/gfsim") + ":" + os.environ["PATH"]
        return subprocess.run([sys.executable, TOOL, *arguments], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, PATH=path))

    @classmethod
    def setUpClass(cls):
        cls.result = cls.run_tool("--ranks=4")
        rows = [line for line in cls.result.stdout.splitlines()
                if line.startswith(("| CPU", "| GPU"))]
        cls.cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]

    def test_every_cell_is_filled(self):
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        self.assertEqual([len(row) for row in self.cells], [2 + len(map_methods.LINKS)] * 10)
        won = r"(\*\*dense\*\* (FP32|BF16)|[A-Z_]+ [\d.]+( rotated)?, [\d.]+ x) \([\d.]+\)"
        for row in self.cells:
            for cell in row[2:]:
                self.assertRegex(cell, "^" + won + "$")

    def test_a_step_that_exchanges_nothing_takes_the_device_its_batch(self):
        self.assertEqual(self.cells[0][:2], ["CPU, 10", "3,200 ms"])
        self.assertEqual(self.cells[4][:2], ["GPU, 10,000", "13 ms"])

    def test_compression_is_useless_on_slow_devices_and_fast_links_alone(self):
        self.assertEqual(self.cells[0][-1], "**dense** FP32 (1.00)")
        self.assertEqual(self.cells[5][-1], "**dense** FP32 (1.00)")
        for row in self.cells:
            self.assertNotIn("dense", row[2])
            # On a faster link dense does not lose again.
            dense = ["dense" in cell for cell in row[2:]]
            self.assertEqual(dense, sorted(dense))

    def test_mistakes_are_refused(self):
        result = self.run_tool("--net=vgg")
        self.assertEqual(result.returncode, 2)
        self.assertIn("vgg is not one of alexnet_bn, resnet50_v2", result.stderr)
        result = self.run_tool("--set", "comm.threshold_fist=1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("comm.threshold_fist", result.stderr)


if __name__ == "__main__":
    unittest.main()
