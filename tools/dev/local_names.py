"""Names that two files of a library or tool define for themselves.

With FRIT_UNITY, CMake compiles several files of a target as one, in which a
file-local definition must be the only one of its name. Overloads are allowed:
parameter types count as part of a function's name.

Each new file changes which files are compiled together, so names are compared
in the whole folder.
"""
import re
from collections.abc import Iterator
from pathlib import Path

TARGET = re.compile(r"^(?:frit|add)_(?:library|tool|executable)\(", re.MULTILINE)
# clang-format does not indent at namespace scope, but everywhere else.
FUNCTION = re.compile(r"^static [^=;{}()]*?\b(\w+)\(", re.MULTILINE)
CONSTANT = re.compile(r"^(?:static |constexpr |const )[^=;{}()]*?\b(\w+)"
                      r"(?:\[\w*\])*(?: =|\{|;)", re.MULTILINE)
# A further one of the same declaration.
FURTHER = re.compile(r",\s+(\w+) = ")
TYPE = re.compile(r"^(?:struct|class|enum|enum class|union) (\w+)\b[^;{}()]*\{",
                  re.MULTILINE)
OPEN, CLOSE = "([{<", ")]}>"


def split_parameters(text: str, start: int) -> Iterator[str]:
    """The parameters of the list that begins at `start`."""
    depth, begin = 0, start
    for i in range(start, len(text)):
        letter = text[i]
        if letter in OPEN:
            depth += 1
        elif depth and letter in CLOSE:
            depth -= 1
        elif depth == 0 and letter in ",)":
            yield text[begin:i]
            begin = i + 1
            if letter == ")":
                return


def type_of(parameter: str) -> str:
    """A parameter without its name, its default, namespaces and a `const` that
    concerns only the callee."""
    text = " ".join(parameter.partition("=")[0].split())
    text = re.sub(r"\w+::", "", text)
    # After `const` or `unsigned` alone comes the type, not the name.
    text = re.sub(r"(?<=[\s&*>])(?<!^const )(?<!^unsigned )\w+$", "", text)
    return re.sub(r"^const (\w+)$", r"\1", text.strip())


def functions(text: str) -> Iterator[tuple[str, int]]:
    """Each file-local function of a source, and its offset."""
    for found in FUNCTION.finditer(text):
        types = map(type_of, split_parameters(text, found.end()))
        yield f"{found[1]}({', '.join(types)})", found.start(1)


def constants(text: str) -> Iterator[tuple[str, int]]:
    """Each file-local constant or variable of a source, and its offset."""
    for found in CONSTANT.finditer(text):
        yield found[1], found.start(1)
        end = max(text.find(";", found.end(1)), found.end(1))
        for further in FURTHER.finditer(text, found.end(1), end):
            yield further[1], further.start(1)


def names(text: str) -> Iterator[tuple[str, int]]:
    """Yields names that no other source of the target may define."""
    yield from functions(text)
    yield from constants(text)
    for found in TYPE.finditer(text):
        yield found[1], found.start(1)


def collisions(root: Path, tracked: list[Path]) -> Iterator[str]:
    """A complaint about each name that two sources of a target define."""
    lists = {file.parent: (root / file).read_text() for file in tracked
             if file.name == "CMakeLists.txt" and file.parts[0] != "test"}
    first: dict[tuple[Path, str], tuple[Path, int]] = {}
    for file in tracked:
        target = next((folder for folder in file.parents if folder in lists), None)
        if file.suffix != ".cpp" or not target or not TARGET.search(lists[target]):
            continue
        text = (root / file).read_text()
        for name, offset in names(text):
            line = text.count("\n", 0, offset) + 1
            other, place = first.setdefault((target, name), (file, line))
            if other != file:
                yield (f"{file}:{line}: `{name}` is also defined in {other}:{place}: "
                       "rename one, or declare it in a header that both include; "
                       "FRIT_UNITY may compile both files as one")
