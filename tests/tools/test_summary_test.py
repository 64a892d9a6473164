"""What tools/test counts."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, "tools")
from test_summary import FAILED, PASSED, SKIPPED, outcome_of_log

GTEST = """[ RUN      ] Data.Reads
[       OK ] Data.Reads (1 ms)
[ RUN      ] Data.Real/0
tests/data/x.cc:7: Skipped
GF_DATA_DIR is not set

[  SKIPPED ] Data.Real/0 (0 ms)
[ RUN      ] Data.Bad
[  FAILED  ] Data.Bad, where GetParam() = 3 (2 ms)
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Data.Real/0
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Data.Bad
"""


def results(outcome):
    return sorted(result for result, _ in outcome.tests.values())


class LogTest(unittest.TestCase):
    def test_each_test_of_googletest_counts_once(self):
        outcome = outcome_of_log(GTEST, succeeded=False)
        self.assertEqual(results(outcome), [FAILED, PASSED, SKIPPED])
        self.assertEqual(outcome.tests["Data.Real/0"], (SKIPPED, "GF_DATA_DIR is not set"))

    def test_a_test_on_several_ranks_counts_once_and_the_worst_counts(self):
        log = ("[       OK ] Mpi.Sum (1 ms)\n[  FAILED  ] Mpi.Sum (2 ms)\n"
               "[       OK ] Mpi.Max (1 ms)\n[       OK ] Mpi.Max (1 ms)\n")
        outcome = outcome_of_log(log, succeeded=False)
        self.assertEqual(results(outcome), [FAILED, PASSED])

    def test_ranks_that_print_at_the_same_time_do_not_hide_the_reason(self):
        log = ("t.cc:4: Skipped\nt.cc:4: Skipped\nno GPU\nno GPU\n[  SKIPPED ] Mpi.Gpu (0 ms)\n"
               "[  SKIPPED ] Mpi.Gpu (0 ms)\n")
        outcome = outcome_of_log(log, succeeded=True)
        self.assertEqual(outcome.tests, {"Mpi.Gpu": (SKIPPED, "no GPU")})

    def test_a_crash_counts_as_a_failure(self):
        outcome = outcome_of_log("[       OK ] A.B (1 ms)\n[ RUN      ] A.C\n", succeeded=False)
        self.assertEqual(results(outcome), [FAILED, PASSED])

    def test_a_script_counts_once(self):
        self.assertEqual(results(outcome_of_log("passed\n", True)), [PASSED])
        self.assertEqual(results(outcome_of_log("FAILED: no\n", False)), [FAILED])
        skipped = outcome_of_log("SKIPPED: no torch\n", True)
        self.assertEqual(skipped.tests, {"": (SKIPPED, "no torch")})

    def test_unittest_is_understood(self):
        log = ("test_a (x.T.test_a)\nWords. ... ok\ntest_b (x.T.test_b) ... skipped 'why'\n"
               "test_c (x.T.test_c) ... ok\ntest_d (x.T.test_d) ... FAIL\n")
        self.assertEqual(results(outcome_of_log(log, False)), [FAILED, PASSED, PASSED, SKIPPED])


class SummaryTest(unittest.TestCase):
    def run_on(self, events, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "events.json")
            with open(path, "w") as file:
                file.writelines(json.dumps(event) + "\n" for event in events)
            run = subprocess.run([sys.executable, "tools/test_summary.py", path, *arguments],
                                 stdout=subprocess.PIPE, text=True)
        self.lines = run.stdout.splitlines()
        return run.returncode, self.lines[-1]

    def configured(self, label):
        return {"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": "SMALL"}}

    def test_the_last_line_has_the_counts(self):
        events = [self.configured("//a:t"),
                  {"id": {"testSummary": {"label": "//a:t"}},
                   "testSummary": {"overallStatus": "PASSED"}}]
        self.assertEqual(self.run_on(events), (0, "1 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.run_on(events, "--check=lint=skipped"),
                         (0, "1 passed, 0 failed, 1 skipped"))

    def test_a_test_that_was_not_built_has_failed(self):
        events = [self.configured("//a:t"),
                  {"id": {"targetCompleted": {"label": "//a:t"}}, "completed": {}}]
        self.assertEqual(self.run_on(events), (1, "0 passed, 1 failed, 0 skipped"))

    def test_a_test_for_another_configuration_is_skipped(self):
        events = [self.configured("//a:t"),
                  {"id": {"targetCompleted": {"label": "//a:t"}},
                   "aborted": {"reason": "SKIPPED"}}]
        self.assertEqual(self.run_on(events), (0, "0 passed, 0 failed, 1 skipped"))

    def test_another_run_counts_too(self):
        left_out = {"id": {"targetCompleted": {"label": "//a:u"}}, "aborted": {"reason": "SKIPPED"}}
        passed = [{"id": {"testSummary": {"label": label}},
                   "testSummary": {"overallStatus": "PASSED"}} for label in ("//a:t", "//a:u")]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "more.json")
            with open(path, "w") as file:
                file.writelines(json.dumps(event) + "\n" for event in passed)
            events = [passed[0], self.configured("//a:u"), left_out]
            self.assertEqual(self.run_on(events), (0, "1 passed, 0 failed, 1 skipped"))
            self.assertEqual(self.run_on(events, "--more=again=" + path),
                             (0, "3 passed, 0 failed, 0 skipped"))

    def test_what_was_saved_can_be_read_again(self):
        events = [self.configured("//a:u"),
                  {"id": {"targetCompleted": {"label": "//a:u"}}, "completed": {}},
                  {"id": {"testSummary": {"label": "//a:t"}},
                   "testSummary": {"overallStatus": "PASSED"}}]
        expected = self.run_on(events)
        self.assertEqual(expected, (1, "1 passed, 1 failed, 0 skipped"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "saved.json")
            with open(os.path.join(folder, "events.json"), "w") as file:
                file.writelines(json.dumps(event) + "\n" for event in events)
            subprocess.run([sys.executable, "tools/test_summary.py", file.name, "--save=" + path],
                           check=True)
            with open(path) as file:
                self.assertEqual(self.run_on([json.load(file)]), expected)

    def test_skipped_tests_are_told_together(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "test.log")
            with open(log, "w") as file:
                for name in "abc":
                    file.write("x.cc:1: Skipped\nno GPU\n[  SKIPPED ] Gpu.%s (0 ms)\n" % name)
            events = [self.result("//a:t", 1, log), self.summary("//a:t", "PASSED", 2500)]
            events += [self.result("//b:t", 1, log), self.summary("//b:t", "PASSED", 1)]
            self.assertEqual(self.run_on(events), (0, "0 passed, 0 failed, 6 skipped"))
        self.assertIn("skipped  //a:t Gpu.a and 5 more: no GPU", self.lines)
        self.assertIn("slow     //a:t: 2 s", self.lines)

    def test_a_second_attempt_is_told_and_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            logs = [os.path.join(folder, name) for name in ("attempt_1.log", "test.log")]
            for log, word in zip(logs, ("  FAILED  ", "       OK ")):
                with open(log, "w") as file:
                    file.write("[%s] A.B (1 ms)\n" % word)
            events = [self.result("//a:t", 1, logs[0]), self.result("//a:t", 2, logs[1]),
                      self.summary("//a:t", "FLAKY", 10)]
            self.assertEqual(self.run_on(events), (0, "1 passed, 0 failed, 0 skipped"))
        self.assertIn("flaky    //a:t: failed at first, passed when tried again", self.lines)

    def result(self, label, attempt, log):
        return {"id": {"testResult": {"label": label, "run": 1, "shard": 1, "attempt": attempt}},
                "testResult": {"testActionOutput": [{"name": "test.log", "uri": "file://" + log}]}}

    def summary(self, label, status, milliseconds):
        return {"id": {"testSummary": {"label": label}},
                "testSummary": {"overallStatus": status,
                                "totalRunDurationMillis": str(milliseconds)}}

    def test_a_broken_build_is_a_failure(self):
        self.assertEqual(self.run_on([], "--bazel_exit_code=1"),
                         (1, "0 passed, 1 failed, 0 skipped"))


if __name__ == "__main__":
    unittest.main()
