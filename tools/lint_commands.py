"""Checks the commands that documents show: programs, flags, fields of jobs, files, Bazel targets.

Used by tools/lint_docs. What exists is read from the tree: programs from BUILD files and the
executable scripts of tools/, flags from DEFINE_* lines, fields from the .proto files.
"""
import glob
import os
import re
import shlex

# Commands of the system that documents may call.
SYSTEM = {
    "bazel", "cat", "cd", "export", "find", "gcc", "git", "head", "jq", "mkdir", "mpirun", "pkill",
    "python3", "/usr/bin/python3", "sed", "srun", "tensorboard", "gradientflow/run",
    "gradientflow/tools/gpu_check", "out/bin/predict/example", "./example",
}
# What a job or a tool writes, or a user brings: need not exist in the tree.
GENERATED = ("configs/quickstart_data", "configs/data", "runs/", "out/")
# Flags of other people's programs that prose mentions.
FOREIGN_FLAGS = {
    "--bind-to", "--host", "--oversubscribe", "--allow-run-as-root", "--mca", "--gpu-bind",
    "--cap-add", "--hostfile", "--map-by", "--prefix", "--prtemca", "--shm-size",
    "--test_env", "--config", "--flaky_test_attempts", "--test_output",
}
FOLDERS = ("bazel", "comm", "configs", "core", "data", "docs", "export", "layers", "models",
           "predict", "simulate", "solvers", "tests", "third_party", "tools")
FLAG = re.compile(r"--([A-Za-z][\w-]*)")
PROTO_FIELD = re.compile(r"^\s*(?:optional|repeated|required)\s+([\w.]+)\s+(\w+)\s*=\s*\d+")
OPERATORS = {"|", "||", "&&", ";", "&", "(", ")"}
REDIRECTIONS = {"<", ">", ">>", "<<", "<<<"}


class Tree:
    """What exists in the repository at `root`."""

    def __init__(self, root):
        self.root = root
        self.programs = self._programs()
        self.scripts = {
            os.path.relpath(path, root)
            for path in glob.glob(root + "/tools/**", recursive=True)
            if os.path.isfile(path) and os.access(path, os.X_OK)
        }
        for script in self.scripts:  # on the PATH by their bare names
            self.programs.setdefault(os.path.basename(script), [script])
        self.flags = {name: self._flags(files) for name, files in self.programs.items()}
        self.messages, self.enums = self._protos()
        self.bazel_configs = set(re.findall(r"^\w+:(\w+) ", self._read(".bazelrc"), re.MULTILINE))

    def _read(self, path):
        path = os.path.join(self.root, path)
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def _programs(self):
        """{program: its source files}. A folder named like its program holds nothing else."""
        programs = {}
        for build in glob.glob(self.root + "/tools/**/BUILD", recursive=True):
            folder = os.path.dirname(build)
            with open(build, encoding="utf-8") as file:
                rules = re.findall(r"^cc_binary\(\n(.*?)^\)", file.read(), re.DOTALL | re.MULTILINE)
            for rule in rules:
                name = re.search(r'name = "(\w+)"', rule).group(1)
                pattern = "/*.cc" if os.path.basename(folder) == name else f"/{name}.cc"
                programs[name] = [os.path.relpath(path, self.root)
                                  for path in sorted(glob.glob(folder + pattern))]
        return programs

    def _flags(self, files):
        """The names of a program's flags, without "--"; of a script every "--name" in its text."""
        found = {"help", "version"}
        for path in files:
            text = self._read(path)
            if path.endswith(".cc"):
                found |= set(re.findall(r"\bDEFINE_\w+\(\s*(\w+)", text))
                # --set may be repeated and has no DEFINE_ line.
                found |= {"set"} if re.search(r'--set PATH|"set"', text) else set()
            else:
                found |= set(FLAG.findall(text))
        return found

    def _protos(self):
        """({message: {field: type}}, {enum: values}) of all .proto files."""
        messages, enums = {}, {}
        paths = [path for folder in FOLDERS  # not out/, which is large
                 for path in glob.glob(f"{self.root}/{folder}/**/*.proto", recursive=True)]
        for path in paths:
            stack = []
            for line in self._read(os.path.relpath(path, self.root)).splitlines():
                line = line.split("//")[0]
                opened = re.match(r"\s*(message|enum)\s+(\w+)\s*\{", line)
                if opened:
                    stack.append(opened.groups())
                    (messages if opened.group(1) == "message" else enums).setdefault(
                        opened.group(2), {} if opened.group(1) == "message" else set())
                field = PROTO_FIELD.match(line)
                if stack and field:
                    messages[stack[-1][1]][field.group(2)] = field.group(1).split(".")[-1]
                value = re.match(r"\s*(\w+)\s*=\s*\d+\s*;", line)
                if stack and stack[-1][0] == "enum" and value:
                    enums[stack[-1][1]].add(value.group(1))
                if stack and line.count("}") > line.count("{") - bool(opened):
                    if line.strip().startswith("}"):
                        stack.pop()
        return messages, enums

    def field_error(self, path, value=None):
        """Why `path` is no field of a job (or `value` no value of it), or None. * is a wildcard."""
        message = "JobConfig"
        names = path.split(".")
        for position, name in enumerate(names):
            fields = self.messages.get(message, {})
            if "*" in name:
                known = [f for f in fields if re.fullmatch(name.replace("*", ".*"), f)]
                return None if known else f"{message} has no field like {name}"
            if name not in fields:
                return f"{message} has no field {name}"
            message = fields[name]
            if position + 1 < len(names) and message not in self.messages:
                return f"{name} has no fields"
        if value is not None and message in self.enums and value not in self.enums[message]:
            return f"{value} is not a value of {path}"
        return None

    def path_error(self, path):
        """Why no file or folder of the tree is meant by `path`, or None."""
        path = path.split(":")[0].rstrip("/.,").removesuffix("/...")
        if path.startswith(GENERATED) or re.search(r"[<>$]|\b[A-Z]{2,}\b|NAME", path):
            return None
        brace = re.search(r"\{([^}]*)\}", path)
        paths = ([path[:brace.start()] + part + path[brace.end():]
                  for part in brace.group(1).split(",")] if brace else [path])
        for one in paths:
            if not glob.glob(os.path.join(self.root, one)):
                return f"{one} does not exist"
        return None

    def target_error(self, target):
        """Why Bazel has no such target, or None."""
        package, _, name = target.lstrip("/").partition(":")
        folder = package.removesuffix("...").rstrip("/")
        if not os.path.isdir(os.path.join(self.root, folder)):
            return f"{target}: there is no folder {folder}"
        if not name or name == "all":
            return None
        text = self._read(os.path.join(folder, "BUILD"))
        for quoted in re.findall(r'"([\w.%-]+)"', text):
            # "step_%d%s_test" stands for the names that a loop makes of it.
            if re.fullmatch(re.sub(r"%[ds]", r"\\w*", quoted), name):
                return None
        return f"{target}: {folder}/BUILD has no such name"

    def flag_errors(self, program, words):
        """Errors in the arguments of one of our programs."""
        errors = []
        for position, word in enumerate(words):
            match = FLAG.match(word)
            if not match:
                continue
            name, value = match.group(1), word[match.end():]
            known = self.flags[program]
            if name not in known and name.removeprefix("no") not in known:
                errors.append(f"{program} has no flag --{name}")
            elif name == "set":
                setting = value[1:] if value else "".join(words[position + 1:position + 2])
                path, _, setting_value = setting.partition("=")
                if "PATH" in path or not path:
                    continue
                placeholder = not setting_value or setting_value.isupper() and \
                    setting_value in ("VALUE", "FILE", "NAME")
                error = self.field_error(path, None if placeholder else setting_value)
                if error:
                    errors.append(f"--set {setting}: {error}")
        return errors

    def command_errors(self, words, must_be_known):
        """Errors in one command. `must_be_known`: its first word must be a program."""
        errors = []
        while words and re.match(r"^\w+=", words[0]):
            value = words[0].partition("=")[2].split()
            if len(value) > 1 and value[0] in self.programs:  # job="gftrain --config=..."
                errors += self.command_errors(value, must_be_known)
            words = words[1:]
        if not words or words[0].startswith("$"):
            return errors
        for word in words:
            if " " in word and (word.split()[0] in self.programs or
                                word.split()[0] in SYSTEM):
                errors += self.command_errors(word.split(), True)
                continue
            for part in re.split(r"[=,]", word):
                if part.startswith(tuple(folder + "/" for folder in FOLDERS)):
                    errors.append(self.path_error(part))
                elif part.startswith("//") and "bazel" in words[0] + words[0].replace(
                        "tools/test", "bazel") and not part.startswith("//bazel"):
                    errors.append(self.target_error(part))
        first = words[0]
        wrapper = first in ("mpirun", "srun", "gradientflow/run", "python3", "/usr/bin/python3",
                            "tools/gfbench/on_links")
        if wrapper:
            inner = [i for i, word in enumerate(words[1:], 1)
                     if word in self.programs or word in self.scripts]
            if inner:
                errors += self.flag_errors(os.path.basename(words[inner[0]]), words[inner[0]:])
        elif first in self.programs or first in self.scripts:
            program = os.path.basename(first)
            if first not in ("tools/test", "tools/package"):  # these pass flags on to bazel
                errors += self.flag_errors(program, words)
        elif must_be_known and first not in SYSTEM:
            errors.append(f"unknown command {first}")
        if first in ("bazel", "tools/test"):
            errors += [f"{name} is no --config of .bazelrc"
                       for name in re.findall(r"--config=(\w+)", " ".join(words))
                       if name not in self.bazel_configs]
        return [error for error in errors if error]


def split_commands(text):
    """[(line number from 0, words)] of the commands in a shell script's text."""
    commands, pending, start, document = [], "", 0, None
    for number, line in enumerate(text.splitlines()):
        if document:  # << END: text up to a line END
            document = None if line == document else document
            continue
        if not pending:
            start = number
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1] + " "
            continue
        lexer = shlex.shlex(pending, posix=True, punctuation_chars="|&;()<>")
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:  # a quotation goes on in the next line
            pending += "\n"
            continue
        here = re.search(r"<<\s*['\"]?(\w+)", pending)
        document = here.group(1) if here and "<<" in words else None
        pending, command, skip = "", [], False
        for word in words + [";"]:
            if skip or word in REDIRECTIONS:  # and the file behind it
                skip = not skip
            elif word in OPERATORS:
                if command:
                    commands.append((start, command))
                command = []
            else:
                command.append(word)
    if pending:
        commands.append((start, pending.split()))
    return commands
