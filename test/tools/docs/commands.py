"""Checks the options of a command without running it."""
import functools
import pathlib
import re
import shlex
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[3]
TOOLS = ("fritc", "frit-run", "frit-train", "frit-reduce", "frit-doctor", "frit-tokenize")


def complaint(line: str) -> str | None:
    """Returns what is wrong with a command line: an unknown option of one of frit's
    tools or of a script of the tree, or a script that does not exist."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    tool = ""  # whose options follow
    for word in lexer:
        if set(word) <= set(";&|"):
            tool = ""
        elif not tool and re.match(r"\w+=", word):
            continue  # a variable of the environment
        elif not tool or re.search(r"python3?$", tool):
            tool = word
            if isScript(tool) and not script(tool):
                return f"there is no {tool}"
        elif len(word) > 1 and word[0] == "-" and not has(tool, word):
            return f"{tool} has no option {word}"
    return None


def isScript(tool: str) -> bool:
    return tool.startswith(("test/", "tools/"))


def has(tool: str, option: str) -> bool:
    if isScript(tool):
        return option.partition("=")[0] in script(tool)
    # A name that ends with "=", or of one letter as -O, may have a value behind it.
    return tool not in TOOLS or any(
        option in (name, name.rstrip("=")) or name.endswith("=") and option.startswith(name)
        or len(name) == 2 and option.startswith(name) and option[1] != "-"
        for name in options(tool))


@functools.cache
def options(tool: str) -> list[str]:
    text = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (-[-\w#]+=?)", text, re.MULTILINE)


@functools.cache
def script(name: str) -> str:
    """The text of a script of the tree and of the Python beside it or that it
    names, "" if there is none."""
    path = SOURCE / name
    if not path.is_file():
        return ""
    text = path.read_text()
    others = [SOURCE / other for other in re.findall(r"[\w/]+\.py", text)]
    others += [file for file in path.parent.glob("*.py") if name.startswith("test/")]
    return text + "".join(file.read_text() for file in others if file.is_file())
