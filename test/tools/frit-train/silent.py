"""Runs frit-train as rank 1 while a program that is no rank 0 listens at
MASTER_PORT: silent.py WORDS ARGS... Prints the status and the messages.

The program accepts and says WORDS, if there are any.
"""
import os
import socket
import subprocess
import sys

words, args = sys.argv[1], sys.argv[2:]
with socket.create_server(("127.0.0.1", 0)) as server:
    rank = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(server.getsockname()[1])}
    trainer = subprocess.Popen(["frit-train", *args], text=True,
                               env=os.environ | rank, stderr=subprocess.PIPE)
    with server.accept()[0] as connection:
        connection.sendall(words.encode())
        messages = trainer.communicate(timeout=60)[1]
print(trainer.returncode, messages.replace(rank["MASTER_PORT"], "PORT"))
