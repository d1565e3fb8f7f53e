"""Runs a command on a terminal until it has shown its progress, and prints that line.

    progress.py WORDS COMMAND...

The line is the first one with WORDS in it.
"""
import os
import pty
import re
import signal
import sys
import time

child, terminal = pty.fork()
if not child:
    os.environ["TERM"] = "xterm"
    os.system("stty cols 200")
    os.execvp(sys.argv[2], sys.argv[2:])
shown, end = "", time.monotonic() + 60
line = None
while not line and time.monotonic() < end:
    try:
        shown += os.read(terminal, 4096).decode(errors="replace")
    except OSError:  # the command has ended
        break
    line = re.search(rf"[^\r\n\x1b]*{re.escape(sys.argv[1])}[^\r\n\x1b]*", shown)
os.kill(child, signal.SIGTERM)
os.waitpid(child, 0)
print(line[0] if line else shown)
