#!/usr/bin/env python3
"""Checks on which Linux systems programs and libraries can be loaded.

    tools/dev/check_symbols.py FILE...

FILE is an ELF program or library, a wheel, or a folder. Prints the newest
versions of the C and C++ libraries' symbols that each needs, and the
distributions that have them. Fails if a symbol is newer than those of the oldest
distribution below, and names it, or if a file needs another library than the C
library. tools/dev/bundle and tools/dev/wheel call this.
"""
import io
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection

#: Supported distributions, the oldest first, and their newest symbol versions.
DISTRIBUTIONS = {
    "Ubuntu 22.04": {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)},
    "Debian 12": {"GLIBC": (2, 36), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)},
    "Ubuntu 24.04": {"GLIBC": (2, 39), "GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15)},
    "Debian 13": {"GLIBC": (2, 41), "GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15)},
}
OLDEST = next(iter(DISTRIBUTIONS))
#: The C library's files: the only ones that may be needed.
LIBRARIES = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux-x86-64)\.so\.\d+")

Version = tuple[int, ...]


def text(version: Version) -> str:
    return ".".join(map(str, version))


def elf_files(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """The programs and libraries at `path`, with their names."""
    def is_elf(start: bytes) -> bool:
        # Archives of objects have no versions yet, and neither have objects.
        return start[:4] == b"\x7fELF" and start[16:18] in (b"\2\0", b"\3\0")

    if path.is_dir():
        for inner in sorted(path.rglob("*")):
            if inner.is_file() and not inner.is_symlink():
                yield from ((str(inner.relative_to(path)), data)
                            for _, data in elf_files(inner))
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                data = wheel.read(name)
                if is_elf(data):
                    yield name, io.BytesIO(data)
    else:
        with path.open("rb") as file:
            if is_elf(file.read(18)):
                yield path.name, file


def needs(data: IO[bytes]) -> tuple[dict[str, dict[Version, list[str]]], list[str]]:
    """Symbols by kind and version, and the names of needed libraries."""
    elf = ELFFile(data)
    versions: dict[int, tuple[str, Version]] = {}
    symbols: list = []
    libraries: list[str] = []
    for section in elf.iter_sections():
        if isinstance(section, GNUVerNeedSection):
            for _, needed in section.iter_versions():
                for entry in needed:
                    # Relative relocations in DT_RELR need a loader of 2.36.
                    name = entry.name.replace("GLIBC_ABI_DT_RELR", "GLIBC_2.36")
                    if kind := re.fullmatch(r"(GLIBC|GLIBCXX|CXXABI)_([\d.]+)", name):
                        versions[entry["vna_other"]] = kind[1], tuple(map(int, kind[2].split(".")))
        elif isinstance(section, GNUVerSymSection):
            symbols = [*section.iter_symbols()]
        elif isinstance(section, DynamicSection):
            libraries = [tag.needed  # type: ignore[attr-defined]
                         for tag in section.iter_tags("DT_NEEDED")]
    # A version may be needed by no symbol that is listed.
    found: dict[str, dict[Version, list[str]]] = {}
    for kind_of, version in versions.values():
        found.setdefault(kind_of, {})[version] = []
    for symbol in symbols:
        if symbol["ndx"] in versions:
            kind_of, version = versions[symbol["ndx"]]
            found[kind_of][version].append(symbol.name)
    return found, libraries


def main(paths: list[str]) -> int:
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    newest: dict[str, Version] = {}
    faults, count = [], 0
    for path in paths:
        if not Path(path).exists():
            print(f"check_symbols: '{path}' does not exist", file=sys.stderr)
            return 2
        for name, data in elf_files(Path(path)):
            count += 1
            symbols, libraries = needs(data)
            for kind, versions in symbols.items():
                newest[kind] = max(newest.get(kind, ()), *versions)
                faults += [f"{name} needs {', '.join(used) or 'a symbol'} of {kind}_{text(version)}; "
                           f"{OLDEST} has {text(DISTRIBUTIONS[OLDEST][kind])}"
                           for version, used in sorted(versions.items())
                           if version > DISTRIBUTIONS[OLDEST][kind]]
            faults += [f"{name} needs {library}, which is not the C library's"
                       for library in libraries if not LIBRARIES.fullmatch(library)]
    if not count:
        faults.append(f"there is no program or library in {', '.join(paths)}")
    for fault in faults:
        print(f"check_symbols: {fault}", file=sys.stderr)
    if faults:
        return 1
    fitting = [name for name, has in DISTRIBUTIONS.items()
               if all(version <= has[kind] for kind, version in newest.items())]
    needed = ", ".join(f"{kind} {text(version)}" for kind, version in sorted(newest.items()))
    print(f"{count} files need {needed or 'no versions'}: {', '.join(fitting)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
