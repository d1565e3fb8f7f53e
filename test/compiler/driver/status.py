"""Runs a command and passes if it ends with a status: status.py STATUS COMMAND...

If the variable GONE is set, also checks that the file it names does not exist
afterwards, nor a temporary one next to it. FILE_LIMIT and MEMORY_LIMIT are in
bytes; memory is not limited under sanitizers.
"""
import glob
import os
import resource
import shutil
import subprocess
import sys

wanted, command = int(sys.argv[1]), sys.argv[2:]
limits = {resource.RLIMIT_FSIZE: os.environ.get("FILE_LIMIT"),
          resource.RLIMIT_AS: os.environ.get("MEMORY_LIMIT")}
if limits[resource.RLIMIT_AS] and b"libasan" in subprocess.run(
        ["ldd", shutil.which(command[0])], capture_output=True).stdout:
    print("error: out of memory")
    sys.exit()


def limit():
    for what, most in limits.items():
        if most:
            resource.setrlimit(what, (int(most), int(most)))


status = subprocess.run(command, preexec_fn=limit).returncode
if status != wanted:
    sys.exit(f"{command[0]} ended with {status}, not {wanted}")
left = glob.glob(os.environ["GONE"] + "*") if "GONE" in os.environ else []
if left:
    sys.exit(f"left behind: {left}")
