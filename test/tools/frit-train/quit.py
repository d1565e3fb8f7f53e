"""Quits runs while they write checkpoints: quit.py FOLDER STEP.so

SIGQUIT ends a run at once, without a last checkpoint, and leaves no part of one.
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

os.chdir(sys.argv[1])
command = ["frit-train", sys.argv[2], "--data=train.npz", "--epochs=100000",
           "--checkpoint=quit", "--checkpoint-every=1", "--resume"]
for attempt in range(25):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    time.sleep(0.1 + 0.003 * attempt)
    process.send_signal(signal.SIGQUIT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGQUIT, (process.returncode, error)
    left = list(pathlib.Path("quit").glob("*.partial"))
    assert not left, left
