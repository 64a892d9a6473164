"""Which documents tools/lint_docs refuses: form, language, links, commands that do not exist."""
import importlib.machinery
import importlib.util
import os
import stat
import tempfile
import unittest

loader = importlib.machinery.SourceFileLoader("lint_docs", "tools/lint_docs")
spec = importlib.util.spec_from_loader("lint_docs", loader)
lint_docs = importlib.util.module_from_spec(spec)
loader.exec_module(lint_docs)

TREE = {
    "README.md": "# Title\n\nA program. See [the index](docs/README.md#pages).\n",
    "docs/README.md": "# Index\n\nThis page lists pages.\n\n## Pages\n[Training](training.md)\n",
    "docs/training.md": "# Training\n\nThis page explains how to train.\n",
    "tools/BUILD": 'cc_binary(\n    name = "gftrain",\n    srcs = ["gftrain.cc"],\n)\n',
    "tools/gftrain.cc": 'const char* kUsage = "--set PATH=VALUE";\n'
                        'DEFINE_string(config, "", "");\nDEFINE_bool(resume, false, "");\n',
    "tools/gfbench/BUILD": 'cc_binary(\n    name = "gfbench",\n)\n',
    "tools/gfbench/step.cc": "DEFINE_int32(\n    batch, 64, \"\");\n",
    "tools/words.txt": "",
    "core/config/job.proto": """
message JobConfig {
  optional string net = 1;  // message in a comment {
  optional DataConfig train_data = 10;
  optional CommConfig comm = 14;
}
message DataConfig {
  optional int32 batch_size = 3 [default = 64];
}
message CommConfig {
  enum Mode {
    LAZY = 0;
    SPARSE = 1;
  }
  optional Mode mode = 2;
  optional int64 threshold_first = 6;
}
""",
    "configs/quickstart.prototxt": "",
    "tests/core/BUILD": 'cc_test(name = "shape_test")\n[cc_test(name = "mpi_%d_test" % n)]\n',
    ".bazelrc": "build:asan --copt=-g\n",
}


class LintDocsTest(unittest.TestCase):
    def setUp(self):
        # Only the test of codespell needs one.
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = ""
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for path, text in TREE.items():
            self.write(path, text)
        self.write("tools/report", 'parser.add_argument("--out")\n')
        os.chmod(self.folder.name + "/tools/report", stat.S_IRWXU)

    def write(self, path, text):
        path = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def errors_with(self, text):
        """The errors of a training page with `text` behind its first sentence, from line 5 on."""
        self.write("docs/training.md", TREE["docs/training.md"] + "\n" + text + "\n")
        return lint_docs.lint(self.folder.name)[0]

    def expect_good(self, text):
        self.assertEqual(self.errors_with(text), [])

    def expect_error(self, text, message):
        errors = self.errors_with(text)
        self.assertTrue(any(message in error for error in errors), errors)

    def test_good_documents_have_no_errors(self):
        errors, pages, _ = lint_docs.lint(self.folder.name)
        self.assertEqual((errors, pages), ([], 3))

    # --- form ---

    def test_long_lines_are_errors_outside_of_tables_and_code(self):
        long = "x" * 101
        self.expect_error(long, "docs/training.md:5: 101 characters, expected at most 100")
        self.expect_good("| " + long + " |\n|---|")
        self.expect_good("```text\n" + long + "\n```")

    def test_indented_code_blocks_are_errors(self):
        self.expect_error("Text:\n\n    gftrain", "docs/training.md:7: code blocks stand between")

    def test_code_blocks_name_their_language(self):
        self.expect_error("```\ngftrain\n```", 'docs/training.md:5: code block of language ""')

    def test_a_code_block_without_end_is_an_error(self):
        self.expect_error("```sh\ngftrain --resume", "docs/training.md:5: this code block")

    def test_a_page_must_say_what_it_answers(self):
        self.write("docs/training.md", "# Training\n\nTo train, do this.\n")
        self.assertEqual(len(lint_docs.lint(self.folder.name)[0]), 1)

    def test_the_index_must_link_to_every_page(self):
        self.write("docs/results/speed.md", "# Speed\n\nThis page explains how fast.\n")
        self.assertEqual(lint_docs.lint(self.folder.name)[0],
                         ["docs/results/speed.md:1: docs/README.md does not link to this page"])

    # --- language ---

    def test_british_spellings_are_errors(self):
        for word in ("colour", "Behaviour", "initialises", "optimisation", "neighbours", "centre",
                     "normalised", "labelled", "grey"):
            self.expect_error(f"A {word} here.", f'"{word}" is British')
        self.expect_good("The color of a program is analyzed. `colour` is a name. Parallelism.")

    def test_phrasings_that_hide_the_noun_are_errors(self):
        for phrase in ("The time is that of a step.", "Those with\nthose of others.",
                       "It is of use.", "It waits in vain.", "They run in turns.",
                       "It passes so much on.", "A damaged file is said.",
                       "It ends. Who waits, loses.", "It ends. What remains is lost."):
            self.assertTrue(self.errors_with(phrase), phrase)
        self.expect_good("What is a rank? As many as 64 ranks wait. Most of the time is free.")

    def test_the_line_of_a_phrase_is_its_first(self):
        self.expect_error("One line.\nThe time is that\nof a step.",
                          "docs/training.md:6: \"that of\"")

    def test_codespell_is_asked_where_it_is_installed(self):
        self.assertFalse(lint_docs.lint(self.folder.name)[2])
        self.write("bin/codespell", "#!/bin/sh\necho 'docs/training.md:3: trian ==> train'\n")
        os.chmod(self.folder.name + "/bin/codespell", stat.S_IRWXU)
        os.environ["PATH"] = self.folder.name + "/bin"
        errors, _, ran = lint_docs.lint(self.folder.name)
        self.assertTrue(ran)
        self.assertEqual(errors, ["docs/training.md:3: spelling: trian ==> train"])

    def test_comments_and_messages_of_sources_are_checked_when_asked(self):
        self.write("core/image.cc", 'int colour = 3;\n// Its colour.\nFail("wrong \\"grey\\"");\n')
        self.write("tests/core/image_test.cc", "// colour\n")
        self.assertEqual(lint_docs.lint(self.folder.name)[0], [])
        self.assertEqual(lint_docs.lint(self.folder.name, with_sources=True)[0],
                         ['core/image.cc:2: "colour" is British: color',
                          'core/image.cc:3: "grey" is British: gray'])

    # --- links ---

    def test_links_must_lead_somewhere(self):
        self.expect_error("[x](nowhere.md)", "docs/nowhere.md does not exist")
        self.expect_error("[x](README.md#nothing)", "docs/README.md has no such heading")
        self.expect_good("[x](README.md#pages) [y](../README.md) [z](https://example.org/x)")

    # --- commands ---

    def command(self, line):
        return "```sh\n" + line + "\n```"

    def test_programs_and_their_flags_must_exist(self):
        self.expect_good(self.command("mpirun -n 2 gftrain --config=configs/quickstart.prototxt"))
        self.expect_good(self.command("gftrain --noresume --help | jq .x && tools/report --out=x"))
        self.expect_good(self.command("gfbench --batch=3"))
        self.expect_error(self.command("gftrian --resume"), "unknown command gftrian")
        self.expect_error(self.command("gftrain --resum"), "gftrain has no flag --resum")
        self.expect_error(self.command("gftrain --batch=3"), "gftrain has no flag --batch")
        self.expect_error(self.command("tools/report --in=x"), "report has no flag --in")
        self.expect_error(self.command("mpirun -n 2 gftrain --resum"), "no flag --resum")
        self.expect_error(self.command("tools/gfbench/on_links 2 1gbit 0 gftrain --resum"),
                          "gftrain has no flag --resum")
        self.expect_error(self.command("X=1 gftrain --resum"), "no flag --resum")
        self.expect_error(self.command("report 'gftrain --resum'"), "no flag --resum")
        self.expect_error(self.command("job='gftrain --resum'\n$job"), "no flag --resum")

    def test_files_of_redirections_are_no_commands(self):
        self.expect_good(self.command("gftrain --resume > runs/x < configs/y | jq .x >> runs/z"))
        self.expect_error(self.command("gftrain > runs/x --resum"), "no flag --resum")

    def test_here_documents_are_no_commands(self):
        document = "cat > runs/x << 'END'\nnet: \"it's\"\ngftrian\nEND\n"
        self.expect_good(self.command(document + "gftrain --resume"))
        self.expect_error(self.command(document + "gftrain --resum"),
                          "docs/training.md:10: gftrain has no flag --resum")

    def test_a_command_over_several_lines_is_one(self):
        self.expect_good(self.command("gftrain \\\n  --config='a\nb' --resume"))
        self.expect_error(self.command("gftrain --resume\ngftrain \\\n  --resum"),
                          "docs/training.md:7: gftrain has no flag --resum")

    def test_fields_that_commands_set_must_exist(self):
        self.expect_good(self.command("gftrain --set train_data.batch_size=3 --set comm.mode=LAZY"))
        self.expect_good(self.command("gftrain --set=net=FILE"))
        for setting, message in (
                ("train_data.batch=3", "DataConfig has no field batch"),
                ("trian_data.batch_size=3", "JobConfig has no field trian_data"),
                ("comm.mode.x=3", "mode has no fields"),
                ("comm.mode=LAZZY", "LAZZY is not a value of comm.mode")):
            self.expect_error(self.command("gftrain --set " + setting), message)

    def test_files_and_targets_of_commands_must_exist(self):
        self.expect_good(self.command("bazel test //tests/core/... //tests/core:mpi_4_test"))
        self.expect_good(self.command("bazel build --config=asan //tools:gftrain"))
        self.expect_good(self.command("gftrain --config=configs/quickstart_data/x"))
        self.expect_error(self.command("gftrain --config=configs/gone.prototxt"),
                          "configs/gone.prototxt does not exist")
        self.expect_error(self.command("bazel test //tests/gone/..."), "no folder tests/gone")
        self.expect_error(self.command("bazel test //tests/core:gone_test"), "no such name")
        self.expect_error(self.command("bazel test --config=msan //..."), "msan is no --config")

    def test_code_spans_are_checked_too(self):
        self.expect_good("`gftrain --resume`, `--batch=3`, `comm.threshold_*`, `core/config/`,\n"
                         "`layers/NAME.cc`, `core/config/{job}.proto`, `comm.mode: LAZY`")
        for span in ("gftrain --resum", "--resum", "comm.mod", "core/gone.h", "//tests/core:gone",
                     "core/config/{job,gone}.proto", "comm.treshold_*"):
            self.assertTrue(self.errors_with(f"See `{span}`."), span)

    def test_output_is_not_checked(self):
        self.expect_good("```text\ngftrain --resum\n```")

    # --- the repository ---

    def test_every_program_of_the_tree_is_known(self):
        tree = lint_docs.lint_commands.Tree(self.folder.name)
        self.assertLessEqual({"gftrain", "gfbench", "report"}, set(tree.programs))
        self.assertEqual(tree.enums["Mode"], {"LAZY", "SPARSE"})


if __name__ == "__main__":
    unittest.main()
