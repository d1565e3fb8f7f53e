"""Kills the tools by signals and checks that no file is left: interrupts.py FOLDER MODEL

fritc is interrupted while it runs a linker that never ends, and in NVRTC if
that is installed; frit-reduce in its test.
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

FOLDER, MODEL, HAS_NVRTC = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "nvrtc"
SIGNALS = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM]
os.chdir(FOLDER)
for name in ["tmp", "bin", "out"]:
    os.mkdir(name)
# Signals its start, and ends when its parent has ended.
pathlib.Path("bin/cc").write_text(
    "#!/bin/sh\ntouch started\nwhile kill -0 $PPID 2>/dev/null; do sleep 0.05; done\n")
os.chmod("bin/cc", 0o755)
ENVIRONMENT = dict(os.environ, TMPDIR=os.path.abspath("tmp"),
                   PATH=os.path.abspath("bin") + ":" + os.environ["PATH"])


def heed():
    """Restores signals that the test's parent may ignore."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def interrupt(command, number, ready):
    # A file, because the child would keep a pipe open.
    with open("errors", "wb") as errors:
        process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                                   stderr=errors, preexec_fn=heed)
    deadline = time.time() + 60
    while not ready() and process.poll() is None and time.time() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    status = process.wait(timeout=60)
    assert status == -number, (command, number, status, open("errors").read())
    # Give the child time to clean up.
    time.sleep(0.2)
    left = os.listdir("tmp") + os.listdir("out")
    assert not left, (command, number, left)


def started():
    return os.path.exists("started")


for number in SIGNALS:
    for command in [["fritc", MODEL, "-march=x86-64", "-o", "out/m.so"],
                    ["fritc", MODEL, "-march=x86-64", "-o", "out/m.so",
                     "-fexternal-weights"]]:
        if started():
            os.remove("started")
        interrupt(command, number, started)
    os.remove("started")
    interrupt(["frit-reduce", MODEL, "--test=bin/cc", "-o", "out/m.onnx"], number, started)
if HAS_NVRTC:
    for number in SIGNALS:
        begin = time.time()
        interrupt(["fritc", MODEL, "-march=sm_90a", "-o", "out/m.so"], number,
                  lambda: time.time() - begin > 0.7)

# Ignored signals stay ignored: here the linker ends by itself.
os.remove("started") if started() else None
pathlib.Path("bin/cc").write_text("#!/bin/sh\ntouch started\nsleep 0.5\nexit 1\n")
process = subprocess.Popen(["sh", "-c", f"trap '' HUP; exec fritc {MODEL} -march=x86-64 "
                            "-o out/m.so"], env=ENVIRONMENT, stderr=subprocess.DEVNULL)
while not started():
    time.sleep(0.02)
process.send_signal(signal.SIGHUP)
assert process.wait(timeout=60) == 4, process.returncode

# The reader of the output is gone.
for command in [["fritc", MODEL, "-march=x86-64", "--emit=plan", "-o", "-"],
                ["fritc", MODEL, "-march=x86-64", "-o", "-"]]:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE,
                          env=dict(os.environ, TMPDIR=ENVIRONMENT["TMPDIR"]))
    os.close(writer)
    assert done.returncode == -signal.SIGPIPE, done
    assert not os.listdir("tmp"), os.listdir("tmp")

# In a temporary folder's first moments.
for wait in range(40):
    process = subprocess.Popen(["frit-reduce", MODEL, "--test=true", "-o", "out/m.onnx"],
                               env=dict(os.environ, TMPDIR=ENVIRONMENT["TMPDIR"]),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=heed)
    time.sleep(0.03 + 0.002 * wait)
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=60)
    assert not os.listdir("tmp"), os.listdir("tmp")
