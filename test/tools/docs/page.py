"""Runs the commands of pages: page.py [--gpu] --bin=FOLDER --out=FOLDER [PAGE...]

Without names it takes all pages of the tree but the dated ones in "notes", which
say what was run then. Each page gets an empty folder with links to the tree's folders. Its fenced
blocks run there in order:

    sh          commands, which must succeed
    console     lines that begin with "$ ", each followed by what it prints on
                both streams; "…" stands for anything. A command fails exactly
                if its text is an error's: FAILS below
    python      a script
    others      with a mark "file", the text of a file

A comment above a block, or above a table whose commands in backticks run too,
says more:

    <!-- file app.c -->              write the block to this file
    <!-- setup COMMAND -->           run this first; readers need not see it
    <!-- needs gpu -->               run it with --gpu, else check its options
    <!-- needs torch, or COMMAND --> run it by $FRIT_TORCH_PYTHON if that is
                                     set, else run COMMAND
    <!-- run -->                     run the commands in the table below
    <!-- tested by FILE -->          that test runs it; check its options
    <!-- options only -->            it takes hours, or other machines; the same

Options of frit's tools are also checked between backticks in text.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from commands import SOURCE, TOOLS, complaint

sys.path.append(str(SOURCE / "tools/dev"))
from tree import files  # noqa: E402

MARKS = ("file", "setup", "needs gpu", "needs torch, or", "run", "tested by", "options only")
FAILS = re.compile(r"^(?:\w+: )?error: |^frit-\w+: (?!note)|  DIFFERENT$", re.MULTILINE)
COMMAND = re.compile(rf"(?:{'|'.join(TOOLS)}) ")


class Fault(Exception):
    """A fault of a page, with its file and line."""


class Block(NamedTuple):
    line: int
    language: str  # "table" for the commands of a table
    text: str
    marks: dict[str, str]

    def commands(self) -> list[str]:
        """The command lines of a block of commands, whole."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.language == "console":
            return [line[2:] for line in lines if line.startswith("$ ")]
        return lines if self.language in ("sh", "table") and "file" not in self.marks else []


def blocks(path: pathlib.Path, text: str) -> list[Block]:
    """The fenced blocks of a page and its tables that are to run, in order."""
    found: list[Block] = []
    marks: dict[str, str] = {}
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if mark := re.fullmatch(r"<!-- (.*) -->", line):
            name = next((name for name in MARKS if mark[1].startswith(name)), None)
            if name is None:
                raise Fault(f"{path}:{number}: unknown mark '{mark[1]}'")
            marks[name] = mark[1][len(name):].strip()
        elif fence := re.fullmatch(r"```(\w*)", line):
            end = lines.index("```", number)
            found.append(Block(number, fence[1], "\n".join(lines[number:end]) + "\n", marks))
            number, marks = end + 1, {}
        elif line.startswith("|") and marks:
            start = number
            while number < len(lines) and lines[number].startswith("|"):
                number += 1
            spans = re.findall(r"`([^`]*)`", "\n".join(lines[start:number]))
            found.append(Block(start, "table", "".join(
                span.replace("\\|", "|") + "\n" for span in spans if " " in span), marks))
            marks = {}
        elif line and marks:
            raise Fault(f"{path}:{number}: a mark stands above a block or a table")
    return found


class Page:
    def __init__(self, path: pathlib.Path, folder: pathlib.Path, binaries: pathlib.Path,
                 gpu: bool) -> None:
        self.path, self.folder, self.gpu = path, folder, gpu
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("codegen", "compiler", "dialects", "runtime", "test", "tools", ".venv"):
            if (SOURCE / name).exists():
                (folder / name).symlink_to(SOURCE / name)
        (folder / "build").mkdir()
        (folder / "build/dev").symlink_to(binaries.parent)
        self.environment = {**os.environ, "PYTHONPATH": str(binaries.parent / "python")}

    def fail(self, line: int, message: str) -> None:
        raise Fault(f"{self.path}:{line}: {message}")

    def run(self, command: str) -> tuple[int, str]:
        done = subprocess.run(["bash", "-ec", command], cwd=self.folder, text=True, timeout=300,
                              env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def require(self, block: Block, command: str) -> None:
        status, printed = self.run(command)
        if status:
            self.fail(block.line, f"status {status}: {command}\n{printed}")

    def session(self, block: Block) -> None:
        """Runs a console block and compares what it prints."""
        text = block.text.replace("\\\n", " ")
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            status, printed = self.run(command)
            if (FAILS.search(expected) is not None) != (status != 0):
                self.fail(block.line, f"status {status}: {command}\n{printed}")
            pattern = r"[\s\S]*".join(map(re.escape, expected.strip().split("…")))
            if not re.fullmatch(pattern, printed.strip()):
                self.fail(block.line, f"{command}\nprints\n{printed}instead of\n{expected}")

    def execute(self, block: Block) -> None:
        if "setup" in block.marks:
            self.require(block, block.marks["setup"])
        if "file" in block.marks:
            file = self.folder / block.marks["file"]
            file.write_text(block.text)
            if block.text.startswith("#!"):
                file.chmod(0o755)
        elif block.language == "sh":
            self.require(block, block.text)
        elif block.language == "console":
            self.session(block)
        elif block.language == "table":
            for command in block.text.splitlines():
                self.require(block, command)
        elif block.language == "python":
            (self.folder / "block.py").write_text(block.text)
            python = self.environment.get("FRIT_TORCH_PYTHON", sys.executable)
            self.require(block, f"{python} block.py")

    def check(self, block: Block) -> None:
        """Checks a block without running it."""
        if block.language == "python":
            compile(block.text, f"{self.path}:{block.line}", "exec")
        if not block.language and re.search(rf"^(?:\$ |{COMMAND.pattern})", block.text, re.M):
            self.fail(block.line, "a block of commands is called sh or console")
        test = block.marks.get("tested by")
        if test and not (SOURCE / test).is_file():
            self.fail(block.line, f"there is no {test}")

    def check_options(self, command: str, line: int) -> None:
        if wrong := complaint(command):
            self.fail(line, f"{wrong}: {command}")

    def all(self) -> None:
        text = (SOURCE / self.path).read_text()
        for number, line in enumerate(text.splitlines(), 1):
            for span in re.findall(r"`([^`]*)`", line):
                if COMMAND.match(span):
                    self.check_options(span.replace("\\|", "|"), number)
        for block in blocks(self.path, text):
            self.check(block)
            isElsewhere = "tested by" in block.marks or "options only" in block.marks
            if isElsewhere or "needs gpu" in block.marks and not self.gpu:
                for command in block.commands():
                    self.check_options(command, block.line)
            elif "needs torch, or" in block.marks and "FRIT_TORCH_PYTHON" not in os.environ:
                self.require(block, block.marks["needs torch, or"])
            else:
                self.execute(block)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    binaries = arguments.bin.resolve()
    os.environ["PATH"] = f"{binaries}{os.pathsep}{os.environ['PATH']}"
    pages = arguments.pages or [page for page in files(SOURCE)
                                if page.suffix == ".md" and page.parent.name != "notes"]

    def run(page: pathlib.Path) -> str:
        folder = arguments.out.resolve() / str(page.with_suffix("")).replace("/", "-")
        try:
            Page(page, folder, binaries, arguments.gpu).all()
        except (Fault, subprocess.TimeoutExpired) as fault:
            return f"{fault}\n"
        return ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = "".join(pool.map(run, pages))
    print(faults or f"{len(pages)} pages", end="" if faults else "\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
