"""Which includes tools/draw_rooms refuses, and when it calls the picture out of date."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import tempfile
import unittest

loader = importlib.machinery.SourceFileLoader("draw_rooms", "tools/draw_rooms")
spec = importlib.util.spec_from_loader("draw_rooms", loader)
draw_rooms = importlib.util.module_from_spec(spec)
loader.exec_module(draw_rooms)

GOOD = {
    "core/shape.h": "#pragma once\n#include <vector>\n",
    "core/config/job.proto": 'import "core/config/net.proto";\n',
    "core/config/config.cc": '#include "core/config/config.h"\n#include "core/shape.h"\n',
    "layers/relu.cc": '#include "layers/relu.h"\n#include "core/shape.h"\n',
    "models/net.cc": '#include "layers/relu.h"\n',
    "comm/communicator.cc": '#include "core/shape.h"\n',
    "comm/mpi/communicator.cc": '  #  include "comm/communicator.h"\n',
    "comm/local/communicator.cc": '#include "comm/communicator.h"\n',
    "solvers/solver.cc": '#include "models/net.h"\n#include "comm/communicator.h"\n',
    "tests/solvers/solver_test.cc": '#include "tools/flags.h"\n',
}


class DrawRoomsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.write("docs/architecture.md", " ".join(
            f"`{room}/`" for _, levels in draw_rooms.RULES.values()
            for level in levels for room in level))
        for path, text in GOOD.items():
            self.write(path, text)

    def write(self, path, text):
        path = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def run_tool(self, check_only):
        """(exit code, what it prints on both streams)."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = draw_rooms.run(self.folder.name, check_only)
        return code, out.getvalue()

    def expect_refused(self, message):
        code, out = self.run_tool(check_only=False)
        self.assertEqual(code, 1, out)
        self.assertIn(message, out)

    def test_a_picture_of_good_code_passes_its_check(self):
        self.assertEqual(self.run_tool(check_only=False)[0], 0)
        self.assertEqual(self.run_tool(check_only=True)[0], 0)
        with open(self.folder.name + "/docs/rooms.svg", encoding="utf-8") as file:
            picture = file.read()
        self.assertIn(">comm/mpi</text>", picture)
        self.assertNotIn(">data/image</text>", picture)  # it has no file here

    def test_a_missing_picture_fails(self):
        code, out = self.run_tool(check_only=True)
        self.assertEqual(code, 1)
        self.assertIn("docs/rooms.svg differs from the code", out)

    def test_the_check_writes_nothing(self):
        self.run_tool(check_only=True)
        self.assertFalse(os.path.exists(self.folder.name + "/docs/rooms.svg"))

    def test_a_new_arrow_makes_the_picture_out_of_date(self):
        self.run_tool(check_only=False)
        self.write("comm/failure/watchdog.cc", '#include "core/shape.h"\n')
        self.write("comm/communicator.cc", '#include "comm/failure/watchdog.h"\n')
        code, out = self.run_tool(check_only=True)
        self.assertEqual(code, 1)
        self.assertIn("run tools/draw_rooms", out)

    def test_a_new_file_without_a_new_arrow_leaves_the_picture(self):
        self.run_tool(check_only=False)
        self.write("comm/group_sum.cc", '#include "core/shape.h"\n')
        self.assertEqual(self.run_tool(check_only=True)[0], 0)

    def test_an_include_of_a_higher_folder_is_refused(self):
        self.write("core/tensor.cc", '\n#include "comm/communicator.h"\n')
        self.expect_refused("core/tensor.cc:2 includes comm/communicator.h: "
                            "core/ must not include comm/")

    def test_an_import_of_a_higher_folder_is_refused(self):
        self.write("core/config/job.proto", 'import "simulate/cluster.proto";\n')
        self.expect_refused("core/ must not include simulate/")

    def test_an_include_of_a_neighbor_folder_is_refused(self):
        self.write("data/loader/loader.cc", '#include "comm/communicator.h"\n')
        self.expect_refused("data/ must not include comm/")

    def test_an_include_of_a_higher_room_is_refused(self):
        self.write("comm/plan.cc", '#include "comm/mpi/communicator.h"\n')
        self.expect_refused("comm/plan.cc:1 includes comm/mpi/communicator.h: "
                            "comm/mpi is not below comm")

    def test_an_include_of_a_room_on_the_same_level_is_refused(self):
        self.write("comm/mpi/waiter.cc", '#include "comm/local/communicator.h"\n')
        self.expect_refused("comm/local is not below comm/mpi")

    def test_a_circle_is_named(self):
        self.write("comm/plan.cc", '#include "comm/mpi/communicator.h"\n')
        self.expect_refused("circle: comm -> comm/mpi -> comm")

    def test_an_include_of_tests_is_refused(self):
        self.write("models/net.cc", '#include "tests/models/case.h"\n')
        self.expect_refused("product code must not include tests/")

    def test_a_room_without_a_rule_is_refused(self):
        self.write("comm/rdma/transport.cc", '#include <vector>\n')
        self.expect_refused("comm/rdma is not in RULES of tools/draw_rooms")

    def test_a_room_that_the_page_does_not_name_is_refused(self):
        self.write("docs/architecture.md", "`core/` `core/config/` `layers/` `models/` `comm/` "
                                           "`comm/mpi/` `solvers/`\n")
        self.expect_refused("docs/architecture.md does not name the room comm/local/")

    def test_the_rules_themselves_have_no_circle(self):
        seen = set()
        for top, (below, levels) in draw_rooms.RULES.items():
            self.assertLessEqual(set(below), seen, top)
            seen.add(top)
            rooms = [room for level in levels for room in level]
            self.assertEqual(len(rooms), len(set(rooms)))
            self.assertEqual({room.split("/")[0] for room in rooms}, {top})


if __name__ == "__main__":
    unittest.main()
