"""Imports the package on systems that it is not for.

    host.py SOURCE FOLDER RUNTIME

Real loaders refuse changed copies of RUNTIME; a C library other than GNU's is
made up, since none is here.
"""
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

SOURCE, FOLDER, RUNTIME = map(Path, sys.argv[1:4])


def message(runtime, before=""):
    """What importing the package says."""
    done = subprocess.run(
        [sys.executable, "-c", f"{before}\nimport frit"], text=True,
        capture_output=True, env={**os.environ, "FRIT_RUNTIME": str(runtime)})
    assert done.returncode == 1, done
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: "), done.stderr
    return last


def changed(name, change):
    library = bytearray(RUNTIME.read_bytes())
    change(library)
    (FOLDER / name).write_bytes(library)
    return FOLDER / name


def older_glibc(library):
    """Asks for a version of glibc that does not exist yet."""
    name = max(re.findall(rb"\0(GLIBC_2\.\d\d)\0", bytes(library)))
    wanted = name[:-4] + b"9.99"

    def hashed(text):
        value = 0
        for byte in text:
            value = (value << 4) + byte
            high = value & 0xf0000000
            value = (value ^ (high >> 24)) & ~high & 0xffffffff
        return struct.pack("<I", value)

    for old, new in ((b"\0" + name + b"\0", b"\0" + wanted + b"\0"),
                     (hashed(name), hashed(wanted))):
        assert old in library
        library[:] = library.replace(old, new)


def arm(library):
    library[18:20] = struct.pack("<H", 183)


wheel = "the wheel is for x86-64 Linux with glibc 2.35 or later"
said = message(changed("arm.so", arm))
assert f"is made for aarch64, and this machine is x86_64: {wheel}" in said, said
said = message(changed("old.so", older_glibc))
assert re.search(r"needs glibc 9\.99, and this system has 2\.\d+: " + wheel, said), said
said = message(FOLDER / "none.so")
assert "runtime is missing: there is no" in said and "none.so" in said, said
(FOLDER / "text.so").write_text("text")
said = message(FOLDER / "text.so")
assert "frit's runtime cannot be opened:" in said, said
musl = "import os; os.confstr = lambda name: None"
said = message(FOLDER / "text.so", musl)
assert f"which is not GNU's (musl, as in Alpine?): {wheel}" in said, said
said = message(FOLDER / "text.so", "import ctypes, os, sys; sys.platform = 'darwin'")
assert f"frit does not run on darwin: {wheel}" in said, said

# The tag that tools/dev/wheel gives the wheel has the version of the message.
tag = (SOURCE / "tools/dev/wheel").read_text()
assert "platform=manylinux_2_35_x86_64" in tag
checked = (SOURCE / "tools/dev/check_symbols.py").read_text()
assert '"Ubuntu 22.04": {"GLIBC": (2, 35)' in checked
print("passed")
