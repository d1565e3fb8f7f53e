"""Runs a command and passes if it ends with a status: status.py STATUS COMMAND...

With the variable GONE set, also holds that the file it names does not exist
afterwards, nor any unfinished one beside it.
"""
import glob
import os
import subprocess
import sys

wanted, command = int(sys.argv[1]), sys.argv[2:]
status = subprocess.run(command).returncode
if status != wanted:
    sys.exit(f"{command[0]} ended with {status}, not {wanted}")
left = glob.glob(os.environ["GONE"] + "*") if "GONE" in os.environ else []
if left:
    sys.exit(f"left behind: {left}")
