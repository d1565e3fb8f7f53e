"""Why the runtime cannot be opened on this system.

pip refuses a wheel for another system; a package that was copied there, or
unpacked, gets as far as this.
"""
from __future__ import annotations

import os
import platform
import re
import struct
import sys

#: The oldest C library that the wheel runs on; tools/dev/wheel has its tag.
GLIBC = "2.35"
SUPPORTED = (f"the wheel is for x86-64 Linux with glibc {GLIBC} or later, such as "
             "Ubuntu 22.04 and Debian 12")

#: Names of machines by ELF's number.
_MACHINES = {62: "x86_64", 183: "aarch64", 243: "riscv64"}


def glibc_version() -> str:
    """The version of the GNU C library; "" if this process has another one."""
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")[2]
    except (AttributeError, OSError, ValueError):
        return ""


def library_machine(path: str | os.PathLike) -> str:
    """The machine that a shared library is made for; "" if it is none."""
    try:
        with open(path, "rb") as file:
            header = file.read(20)
    except OSError:
        return ""
    if len(header) < 20 or header[:4] != b"\x7fELF":
        return ""
    order = ">" if header[5] == 2 else "<"
    number, = struct.unpack(f"{order}H", header[18:20])
    return _MACHINES.get(number, f"machine {number} of ELF")


def explain(path: str | os.PathLike, error: OSError) -> str:
    """Says what the system lacks for which the runtime at `path` was not opened."""
    machine, wanted = platform.machine(), library_machine(path)
    if not os.path.exists(path):
        return (f"frit's runtime is missing: there is no '{os.fspath(path)}'; "
                "install the wheel, or build the target frit_shared")
    if not sys.platform.startswith("linux"):
        return f"frit does not run on {sys.platform}: {SUPPORTED}; WSL 2 is one too"
    if wanted and wanted != machine:
        return (f"this package of frit is made for {wanted}, and this machine is "
                f"{machine}: {SUPPORTED}")
    if sys.maxsize <= 1 << 32:
        return f"frit needs a 64-bit Python, and this one has 32 bits: {SUPPORTED}"
    if not glibc_version():
        return ("frit does not run with this system's C library, which is not "
                f"GNU's (musl, as in Alpine?): {SUPPORTED}")
    if symbol := re.search(r"version [`']GLIBC_([\d.]+)' not found", str(error)):
        return (f"this package of frit needs glibc {symbol[1]}, and this system has "
                f"{glibc_version()}: {SUPPORTED}")
    return f"frit's runtime cannot be opened: {error}"
