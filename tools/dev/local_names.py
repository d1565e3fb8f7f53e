"""Names that two files of a library or tool define for themselves.

With FRIT_UNITY, CMake compiles several files of a target as one, in which a
file-local definition must be the only one of its name. Overloads are allowed:
parameter types count as part of a function's name.

A function in an unnamed namespace hides the static functions of its name from
classes in such a namespace, whatever their parameters are: between these two the
name counts alone.

Each new file changes which files are compiled together, so names are compared
in the whole folder.
"""
import re
from collections.abc import Iterator
from pathlib import Path

TARGET = re.compile(r"^(?:frit|add)_(?:library|tool|executable)\(", re.MULTILINE)
# clang-format does not indent at namespace scope, but everywhere else.
FUNCTION = re.compile(r"^static [^=;{}()]*?\b(\w+)\(", re.MULTILINE)
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\} // namespace$", re.MULTILINE | re.DOTALL)
# A function in an unnamed namespace, no member and no macro.
INSIDE = re.compile(r"^(?!static |template|struct |class |enum |union |using |return |"
                    r"public|private|protected)[A-Za-z][^=;{}()]*?(?<!::)\b([a-z]\w*)\(",
                    re.MULTILINE)
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


def hiding(text: str) -> Iterator[tuple[str, int]]:
    """Each function that a source defines in an unnamed namespace, and its offset."""
    for space in UNNAMED.finditer(text):
        for found in INSIDE.finditer(text, space.start(1), space.end(1)):
            yield found[1], found.start(1)


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


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def sources(root: Path, tracked: list[Path]) -> Iterator[tuple[Path, Path, str]]:
    """Each source of a target that may be compiled as one: the target's folder, the
    file and its text."""
    lists = {file.parent: (root / file).read_text() for file in tracked
             if file.name == "CMakeLists.txt" and file.parts[0] != "test"}
    for file in tracked:
        target = next((folder for folder in file.parents if folder in lists), None)
        if file.suffix == ".cpp" and target and TARGET.search(lists[target]):
            yield target, file, (root / file).read_text()


def collisions(root: Path, tracked: list[Path]) -> Iterator[str]:
    """A complaint about each name that two sources of a target define."""
    first: dict[tuple[Path, str], tuple[Path, int]] = {}
    hiders: dict[tuple[Path, str], tuple[Path, int]] = {}
    found = [*sources(root, tracked)]
    for target, file, text in found:
        for name, offset in hiding(text):
            hiders.setdefault((target, name), (file, line_of(text, offset)))
    for target, file, text in found:
        for name, offset in names(text):
            here = (file, line_of(text, offset))
            for other, place in (first.setdefault((target, name), here),
                                 hiders.get((target, name.partition("(")[0]), here)):
                if other != file:
                    yield (f"{file}:{here[1]}: `{name}` is also defined in {other}:{place}: "
                           "rename one, or declare it in a header that both include; "
                           "FRIT_UNITY may compile both files as one")
