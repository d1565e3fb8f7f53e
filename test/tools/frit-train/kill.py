"""Kills a run again and again until it is done: kill.py SIGNAL FOLDER STEP.so

Prints the exit status and the last error of each run that was killed.
"""
import os
import signal
import subprocess
import sys

number, folder, step = int(sys.argv[1]), sys.argv[2], sys.argv[3]
os.chdir(folder)
os.environ["FRIT_TEST_STEP_MS"] = "5"
command = ["frit-train", step, "--data=train.npz", "--steps=120", "--seed=5",
           "--lr=linear:0.2,warmup=9", f"--checkpoint=killed{number}",
           "--checkpoint-every=10", "--log-every=1000", "--resume"]
# A shell's background jobs ignore SIGINT, and their children would too.
signal.signal(signal.SIGINT, signal.SIG_DFL)
for attempt in range(100):
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True,
                               stdout=subprocess.PIPE)
    try:
        out, error = process.communicate(timeout=0.2 + 0.017 * attempt)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
        out, error = process.communicate()
    print(out, end="")
    print(process.returncode if number != 9 else "", error, flush=True)
    if process.returncode == 0:
        break
    # An interrupt before there is a handler ends it as any signal would.
    stopped = (128 + number, -number) if number != 9 else (-9,)
    assert process.returncode in stopped, error
assert process.returncode == 0 and attempt > 1, attempt
