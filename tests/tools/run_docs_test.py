"""What tools/run_docs runs, in which order, and what it reports."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import tempfile
import unittest

loader = importlib.machinery.SourceFileLoader("run_docs", "tools/run_docs")
run_docs = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_docs", loader))
loader.exec_module(run_docs)

PROGRAM = """#!/usr/bin/env bash
for word; do
  case $word in
    --help) echo "  --config=FILE   a job"; exit ;;
    --config=*) ;;
    *) echo "unknown flag $word" >&2; exit 2 ;;
  esac
done
mkdir -p runs
echo "trained in 3.5 s"
"""
TREE = {
    "README.md": "# Title\n\n```sh\nexport PATH=$PWD/out/bin/tools:$PATH\n"
                 "bazel build //tools/...\n```\n\n"
                 "```sh\ngftrain --config=configs/a.prototxt\n```\n",
    "docs/README.md": "# Index\n\n[none](z.md)\n\n| [z](z.md) | x |\n| [a](results/a.md) | x |\n",
    "docs/z.md": "# Z\n",
    "docs/results/a.md": "# A\n",
    "tools/BUILD": 'cc_binary(\n    name = "gftrain",\n    srcs = ["gftrain.cc"],\n)\n',
    "tools/gftrain.cc": 'DEFINE_string(config, "", "");\nDEFINE_string(secret, "", "");\n',
    "configs/a.prototxt": "",
    ".gitignore": "/out/\n/runs/\n",
    "out/bin/tools/gftrain": PROGRAM,
    "bin/bazel": "#!/bin/sh\n[ $3 = 'set(//tools/...)' ] && echo //tools:gftrain //tools:absent\n",
}


class RunDocsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = self.folder.name + "/root"
        for path, text in TREE.items():
            self.write(path, text)
        for path in ("out/bin/tools/gftrain", "bin/bazel"):
            os.chmod(f"{self.root}/{path}", 0o755)
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = f"{self.root}/bin:{path}"
        self.git("init")
        self.git("add", "-A")
        run_docs.commit(self.root)

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.root, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, everything=False, named=()):
        """(number of errors, output) of reading all pages."""
        output = io.StringIO()
        with tempfile.TemporaryDirectory() as work, contextlib.redirect_stdout(output):
            return run_docs.read_together(self.root, named, everything, work), output.getvalue()

    def page(self, text):
        """The same with `text` from line 3 of docs/z.md on."""
        self.write("docs/z.md", "# Z\n\n" + text)
        return self.read()

    def expect_good(self, text):
        errors, output = self.page(text)
        self.assertEqual(errors, 0, output)
        return output

    def expect_error(self, text, message):
        errors, output = self.page(text)
        self.assertGreater(errors, 0, output)
        self.assertIn(message, output)

    def test_good_pages_have_no_errors(self):
        errors, output = self.read()
        self.assertEqual(errors, 0, output)
        self.assertIn("4 pages, 2 blocks run, 0 checked, 0 errors", output)

    def test_pages_come_in_the_order_of_the_index(self):
        pages = run_docs.lint_docs.read_pages(self.root)
        self.assertEqual(run_docs.reading_order(pages),
                         ["README.md", "docs/README.md", "docs/z.md", "docs/results/a.md"])

    def test_misspelt_commands_and_options_are_errors_with_their_lines(self):
        self.expect_error("```sh\ntrue\ngftrian --config=x\n```",
                          "docs/z.md:5: gftrian --config=x: exit code 127, expected 0")
        self.expect_error("```sh\ngftrain \\\n  --confg=x\n```",
                          "docs/z.md:5: gftrain --confg=x: exit code 2, expected 0\n"
                          "  | unknown flag --confg=x")

    def test_programs_that_no_page_builds_are_not_found(self):
        self.write("README.md", TREE["README.md"].replace("bazel build //tools/...\n", ""))
        errors, output = self.read()
        self.assertEqual(errors, 1)
        self.assertIn("README.md:8: gftrain --config=configs/a.prototxt: exit code 127", output)

    def test_targets_that_do_not_exist_are_errors(self):
        self.expect_error("```sh\nbazel build //tols/...\n```", "docs/z.md:4: bazel build //tols")

    def test_variables_and_the_folder_last_from_block_to_block(self):
        self.expect_good("```sh\njob='a  b'\ncd docs\n```\n```sh\n[ \"$job\" = 'a  b' ]\n"
                         "[ -f z.md ]\ncd ..\n```")

    def test_files_that_git_would_see_are_errors(self):
        self.expect_good("```sh\nmkdir -p runs\ntouch runs/x\n```")
        self.expect_error("```sh\ntouch left here\n```\n```sh\ntrue\n```",
                          "docs/z.md:4: leaves files that git does not ignore: here, left")

    def test_a_folder_before_the_program_of_its_name_is_an_error(self):
        paths = "```sh\nmkdir -p runs/gftrain\nexport PATH=%s\n```\n```sh\ntrue\n```"
        self.expect_good(paths % "$PATH:$PWD/runs")
        errors, output = self.page(paths % "$PWD/runs:$PATH")
        self.assertEqual(errors, 1, output)
        self.assertIn("gradientflow/runs/gftrain before the program: Open MPI 5", output)

    def test_output_is_compared_but_for_its_numbers(self):
        train = "```sh\ngftrain\n```\n\n"
        self.expect_good(train + "```text\n...\ntrained in 120 ms\n...\n```")
        self.expect_good(train + "This is typical:\n\n```text\nevaluated in 1 s\n```")
        self.expect_good(train + "<!-- output: varies, a reason -->\n```text\nelse\n```")
        self.expect_error(train + "```text\n...\ntrained for 120 ms\n```",
                          "docs/z.md:9: was not printed like this: trained for 120 ms")

    def test_a_block_may_have_another_exit_code_and_deadline(self):
        self.expect_good("<!-- run: exit=2 -->\n```sh\ngftrain --bad\n```")
        self.expect_error("<!-- run: exit=3 -->\n```sh\ngftrain --bad\n```",
                          "docs/z.md:5: gftrain --bad: exit code 2, expected 3")
        self.expect_error("<!-- run: timeout=1 -->\n```sh\nsleep 60\n```", "did not end in 1 s")

    def test_blocks_that_are_not_run_name_a_reason_and_are_checked(self):
        output = self.expect_good("<!-- run: no, needs two hosts -->\n```sh\n"
                                  "mpirun -n 2 --host a,b gftrain --config=FILE\n```")
        self.assertIn("not run, only checked: docs/z.md:5: needs two hosts", output)
        start = "<!-- run: no, a reason -->\n```sh\n"
        self.expect_error(start + "gftrian --config=x\n```", "docs/z.md:5: unknown command gftrian")
        self.expect_error(start + "gftrain --confg=x\n```", "docs/z.md:5: gftrain has no flag")
        self.expect_error(start + "gftrain --secret=x\n```",
                          "docs/z.md:5: gftrain --help does not know --secret")
        for comment in ("no", "no,", "yes, why", "timeout=x"):
            with self.assertRaisesRegex(ValueError, "docs/z.md:3: cannot read the comment"):
                self.page(f"<!-- run: {comment} -->\n```sh\ntrue\n```")

    def test_blocks_for_programs_that_are_missing_are_not_run(self):
        output = self.expect_good("<!-- run: needs=no_such_program -->\n"
                                  "```sh\ngftrain\n```")
        self.assertIn("no_such_program is not installed", output)

    def test_blocks_marked_all_run_only_with_all(self):
        self.write("README.md", "# Title\n")
        text = "<!-- run: all, takes hours -->\n```sh\ngit no-such-command\n```"
        self.expect_good(text)
        self.assertEqual(self.read(everything=True)[0], 1)

    def test_uncommitted_changes_are_part_of_the_clone(self):
        self.write("docs/new.txt", "")
        os.remove(self.root + "/configs/a.prototxt")
        output = self.expect_good("```sh\n[ -f docs/new.txt ]\n[ ! -e configs/a.prototxt ]\n```")
        self.assertIn("3 files that are not committed", output)

    def test_processes_that_a_block_leaves_behind_are_ended(self):
        self.expect_good("```sh\nsleep 1000 & echo $! > runs/pid\n```\n"
                         "```sh\n! kill -0 $(cat runs/pid) 2> runs/errors\n```")


if __name__ == "__main__":
    unittest.main()
