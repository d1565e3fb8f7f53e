"""pip takes a wheel with the tag of tools/dev/wheel on the systems that the pages
name, and refuses it on others.

    platforms.py SOURCE FOLDER
"""
import re
import subprocess
import sys
import zipfile
from pathlib import Path

SOURCE, FOLDER = map(Path, sys.argv[1:3])
tag = re.search(r"^platform=(\S+)", (SOURCE / "tools/dev/wheel").read_text(), re.M)[1]
wheel = FOLDER / f"frit-0.1.0-py3-none-{tag}.whl"
with zipfile.ZipFile(wheel, "w") as file:
    info = "frit-0.1.0.dist-info"
    file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: frit\nVersion: 0.1.0\n")
    file.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n")
    file.writestr(f"{info}/RECORD", "")


def taken(*platforms):
    """Whether pip would install the wheel on a system of these tags."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--dry-run",
         "--no-deps", "--no-index", "--ignore-installed", "--only-binary=:all:",
         f"--target={FOLDER}/none", *(f"--platform={name}" for name in platforms), wheel],
        text=True, capture_output=True)
    if done.returncode == 0:
        assert "Would install frit-0.1.0" in done.stdout, done.stdout
        return True
    assert "is not a supported wheel on this platform" in done.stderr, done.stderr
    return False


for glibc in (31, 34, 35, 36, 39, 41):
    # pip's tags of a system are those of its glibc and of all before it.
    names = [f"manylinux_2_{older}_x86_64" for older in range(5, glibc + 1)]
    assert taken(*names) == (glibc >= 35), glibc
for other in ("musllinux_1_2_x86_64", "manylinux_2_41_aarch64", "linux_x86_64",
              "win_amd64", "macosx_14_0_x86_64"):
    assert not taken(other), other
print("passed")
