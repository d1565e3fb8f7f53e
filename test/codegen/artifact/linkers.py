"""Links a model with each linker of this machine and runs the result.

    linkers.py MODEL INPUT EXPECTED FOLDER

Every shared library must give the expected results as it is, stripped, and
copied by objcopy; so must every object, linked into an application. Linkers
that are not installed are skipped.
"""
import os
import pathlib
import shutil
import subprocess
import sys

MODEL, INPUT, EXPECTED = sys.argv[1:4]
FOLDER = pathlib.Path(sys.argv[4])
LINKERS = ["bfd", "gold", "lld", "mold"]


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True,
                          text=True, **options)
    if done.returncode:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(library):
    run("frit-run", library, f"--input=@{INPUT}", f"--compare={EXPECTED}")


def segments(library):
    """Checks that the weights are in one read-only segment."""
    text = run("readelf", "-lW", library)
    lines = [line.split() for line in text.splitlines()]
    own = next(line[0] for line in lines if ".frit.weights" in line)
    loads = [line for line in lines if line and line[0].isupper() and
             len(line) > 6 and line[1].startswith("0x")]
    segment = loads[int(own)]
    assert segment[0] == "LOAD" and segment[6] == "R", segment
    assert sum(".frit.weights" in line for line in lines) == 1, text
    # One relocation points to them; none lies in them.
    start, size = int(segment[2], 16), int(segment[5], 16)
    places = [int(line.split()[0], 16) for line in
              run("readelf", "-rW", library).splitlines()
              if "R_X86_64_" in line]
    assert not any(start <= place < start + size for place in places)


for linker in LINKERS:
    if not shutil.which(f"ld.{linker}") and not shutil.which(linker):
        print(f"{linker}: not here")
        continue
    folder = FOLDER / linker
    folder.mkdir(parents=True)
    cc = folder / "cc"
    cc.write_text(f'#!/bin/sh\nexec {shutil.which("cc")} -fuse-ld={linker} "$@"\n')
    cc.chmod(0o755)
    path = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
    library = folder / "model.so"
    run("fritc", MODEL, "-march=x86-64-v3", "-o", library, env=path)
    check(library)
    segments(library)
    for name, command in {
        "stripped": ["strip", library, "-o"],
        "copied": ["objcopy", library],
        "llvm": ["llvm-strip", library, "-o"],
    }.items():
        if shutil.which(command[0]):
            run(*command, folder / f"{name}.so")
            check(folder / f"{name}.so")
    run("ldd", library)
    assert "model_image_weights" in run("nm", library)

    run("fritc", "-c", MODEL, "-march=x86-64-v3", "-o", folder / "model.o")
    run("strip", "-d", folder / "model.o")
    run(cc, "-shared", folder / "model.o", "-Wl,--defsym=frit_model_image=model_image",
        "-lm", "-o", folder / "linked.so")
    check(folder / "linked.so")
    print(f"{linker}: good")
