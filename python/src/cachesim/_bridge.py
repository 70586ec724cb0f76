"""Hands the pipes of a replay to the process that has the policy, and waits until that is done."""
import array
import os
import socket
import sys

token, address = os.environ["CACHESIM_BRIDGE"].split(":", 1)
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(address)
    pipes = array.array("i", [0, 1])
    connection.sendmsg([f"{token}:{sys.argv[1]}".encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, pipes)])
    os.close(0)
    os.close(1)
    if not connection.recv(1):
        sys.exit("the policy failed")
