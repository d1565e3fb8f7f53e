#!/usr/bin/env python3
"""Prints the notes of a release, as Markdown:

    tools/dev/release_notes.py [--since=TAG] VERSION FILE...

How to install the FILEs, their sizes, the platforms of the README, and the
commits since the last tag in groups, by what most of their lines changed.
Commits that changed only tests, pages and scripts are counted.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Groups of commits, and the folders that count for each. The first that fits
#: has a file.
GROUPS = {
    "Training": ("tools/frit-train", "compiler/training", "compiler/driver/options/Training",
                 "dialects/nn/gradients", "dialects/nn/training"),
    "Language models": ("compiler/decoder", "compiler/gguf", "runtime/generate", "tools/tokenizer",
                        "tools/frit-tokenize"),
    "Models and operators": ("compiler/onnx", "compiler/json", "compiler/padding", "dialects/nn"),
    "GPUs": ("codegen/cuda", "runtime/cuda"),
    "CPUs": ("codegen/cpu", "runtime/cpu"),
    "Python": ("tools/python",),
    "Runtime": ("runtime",),
    "Compiler": ("compiler", "dialects", "codegen", "tools/fritc"),
    "Tools": ("tools",),
}
UNCOUNTED = re.compile(r"^(test|tools/dev|\.ci)/|\.md$|^tools/(check|quickstart)$|^[^/]*$")


def git(*command: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *command], check=True, capture_output=True,
                          text=True).stdout


def last_tag() -> str:
    """The newest tag before this commit; "" if there is none."""
    found = subprocess.run(["git", "-C", ROOT, "describe", "--tags", "--abbrev=0", "HEAD^"],
                           capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else ""


def group_of(changes: str) -> str:
    """The group of a commit by `git log --numstat`'s lines; "" for none."""
    lines: dict[str, int] = {}
    for added, removed, file in re.findall(r"^(\d+|-)\t(\d+|-)\t(.+)$", changes, re.MULTILINE):
        # A file that moved is "a/{b => c}/d", or "a => b".
        file = re.sub(r"\{.* => (.*?)\}", r"\1", file).replace("//", "/").split(" => ")[-1]
        if UNCOUNTED.search(file):
            continue
        group = next((name for name, starts in GROUPS.items()
                      if any(file.startswith(start) for start in starts)), "Tools")
        lines[group] = lines.get(group, 0) + sum(int(n) for n in (added, removed) if n != "-") + 1
    return max(lines, key=lambda name: lines[name], default="")


def changes(since: str) -> str:
    """What changed, in groups."""
    if not since:
        count = git("rev-list", "--count", "HEAD").strip()
        supported = section("What it supports")
        return f"## The first release\n{supported}\n\nIt has {count} commits.\n"
    groups: dict[str, list[str]] = {}
    others = 0
    for commit in git("log", "--no-merges", "--reverse", "--numstat", "--format=%x00%s",
                      f"{since}..HEAD").split("\0")[1:]:
        subject, _, changed = commit.partition("\n")
        if group := group_of(changed):
            groups.setdefault(group, []).append(subject)
        else:
            others += 1
    text = f"## Changes since {since}\n"
    for name in GROUPS:
        if name in groups:
            text += f"\n### {name}\n" + "".join(f"- {subject}\n" for subject in groups[name])
    if others:
        text += f"\n{others} more commits change tests, pages and scripts.\n"
    return text


def section(heading: str) -> str:
    """The README's text under a heading, without links into the repository."""
    readme = (ROOT / "README.md").read_text()
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |^\(\*|\Z)", readme, re.MULTILINE | re.DOTALL)
    if not found:
        sys.exit(f"release_notes: README.md has no heading '{heading}'")
    return re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", found[1]).strip()


def platforms() -> str:
    """The README's table of platforms."""
    readme = (ROOT / "README.md").read_text()
    found = re.search(r"^\| runs on \|.*\n(?:\|.*\n)+", readme, re.MULTILINE)
    return found[0] if found else sys.exit("release_notes: README.md has no table 'runs on'")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--since", help="the release before (default: the last tag)")
    parser.add_argument("version")
    parser.add_argument("files", nargs="+", type=Path)
    arguments = parser.parse_args()
    since = last_tag() if arguments.since is None else arguments.since
    wheels = [file.name for file in arguments.files if file.suffix == ".whl"]
    bundles = [file.name for file in arguments.files if file.name.endswith(".tar.xz")]
    print(f"# frit {arguments.version}\n\n```sh\nsha256sum --check --ignore-missing SHA256SUMS")
    for wheel in wheels:
        print(f"pip install ./{wheel}           # Python, tools, headers\n"
              f'pip install "./{wheel}[cuda]"   # with NVIDIA\'s compiler and libraries')
    for bundle in bundles:
        folder = bundle.removesuffix(".tar.xz")
        print(f"tar xf {bundle}   # or without Python: {folder}/bin/fritc")
    print("```\n\n| file | MB |\n|---|---|")
    for file in arguments.files:
        print(f"| {file.name} | {file.stat().st_size / 1e6:.1f} |")
    print(f"\n{platforms()}\n{changes(since)}", end="")


if __name__ == "__main__":
    main()
