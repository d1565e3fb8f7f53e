"""Compiles with too little memory, and crashes: out_of_memory.py FOLDER MODEL MARCH...

Whatever the limit, fritc succeeds, or ends with status 4 and one line, and leaves
no file. A crash with enough memory is a bug.
"""
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

FOLDER, MODEL, TARGETS = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
os.chdir(FOLDER)
for name in ["tmp", "bin", "out"]:
    os.mkdir(name)
ENVIRONMENT = dict(os.environ, TMPDIR=os.path.abspath("tmp"))
LOADER = 127  # the status of a program whose libraries found no room


def command(march):
    return ["fritc", MODEL, f"-march={march}", "-o", "out/m.so"]


def compile_within(mib, march):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))
    return subprocess.run(command(march), env=ENVIRONMENT, preexec_fn=limit,
                          capture_output=True, text=True, check=False)


for march in TARGETS:
    said, mib = set(), 80
    while (done := compile_within(mib, march)).returncode != 0:
        case = (march, mib, done)
        assert done.returncode in (4, LOADER), case
        if done.returncode != LOADER:
            assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, case
            said.add(done.stderr)
        left = os.listdir("tmp") + os.listdir("out")
        assert not left, (case, left)
        assert mib < 4000, case
        mib += mib // 16
    assert "error: out of memory\n" in said, said
    os.remove("out/m.so")

# Waits for its parent, so that the signal comes while fritc has temporary files.
pathlib.Path("bin/cc").write_text(
    "#!/bin/sh\ntouch started\nwhile kill -0 $PPID 2>/dev/null; do sleep 0.05; done\n")
os.chmod("bin/cc", 0o755)
ENVIRONMENT["PATH"] = os.path.abspath("bin") + ":" + os.environ["PATH"]
with open("errors", "wb") as errors:  # the linker would keep a pipe open
    process = subprocess.Popen(command("x86-64"), env=ENVIRONMENT, stderr=errors)
deadline = time.time() + 60
while not os.path.exists("started") and time.time() < deadline:
    time.sleep(0.02)
process.send_signal(signal.SIGSEGV)
assert process.wait(timeout=60) == 3, process.returncode
assert "This is a bug in frit" in pathlib.Path("errors").read_text(encoding="utf-8")
left = os.listdir("tmp") + os.listdir("out")
assert not left, left
