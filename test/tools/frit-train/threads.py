"""Runs a command whose threads' stacks take 64 MiB each, in MIB more address
space than it begins with: threads.py MIB COMMAND..."""
import os
import resource
import subprocess
import sys

room, *command = sys.argv[1:]


def limit():
    # The size of a thread's stack is the limit of the main one's.
    resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.RLIM_INFINITY))
    bytes = (200 << 20) + (int(room) << 20)
    resource.setrlimit(resource.RLIMIT_AS, (bytes, bytes))
    if room == "0":
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 30, resource.RLIM_INFINITY))


print("status", subprocess.run(command, preexec_fn=limit).returncode, flush=True)
