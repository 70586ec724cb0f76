"""Lets a class decide what a cache evicts: cachesim run TRACE --policy 'exec(command="python3 my.py")'.

my.py ends with cachesim.run(My, name="my policy"). My is made with the capacity and has victim(object, size, time),
which returns the object to evict; object is None where the cache only shrinks. It may have hit, miss, insert, admit
(object, size, time), remove(object), resized(object, size) and resize(capacity), which are called where it has them.
"""
import os
import shlex
import struct
import sys

KINDS = ["hit", "miss", "insert", "remove", "resized", "resize", "grow", "victim", "admit"]  # from 1
NONE = 0xFFFFFFFF  # as an object: none
EVENT, ANSWER = struct.Struct("<BxxxIqqq"), struct.Struct("<I")


def run(policy, name=None, source="", read=0, write=1):
    first = b""
    while not first.endswith(b"\n"):
        first += os.read(read, 1) or sys.exit()
    told = dict(word.split("=") for word in first.decode().split()[2:])
    p = policy(int(told["capacity"]))
    wants = [want for want, kind in (("hits", "hit"), ("misses", "miss"), ("admit", "admit")) if hasattr(p, kind)]
    words = [f"name={name or policy.__name__}", f"source={source}", "format=binary", "wants=" + ",".join(wants)]
    os.write(write, f"policy 1 {shlex.join(words)}\n".encode())
    call = [None] + [getattr(p, kind, None) for kind in KINDS]
    rest = b""
    while data := os.read(read, 1 << 16):
        data = rest + data if rest else data
        whole = len(data) - len(data) % EVENT.size
        rest = data[whole:]
        for kind, object, size, time, _ in EVENT.iter_unpack(data[:whole]):
            if kind <= 3:
                if call[kind]:
                    call[kind](object, size, time)
            elif kind >= 8:
                answer = call[kind](None if object == NONE else object, size, time)
                os.write(write, ANSWER.pack(NONE if answer is None else answer))
            elif call[kind]:
                call[kind](*{4: (object,), 5: (object, size), 6: (size,), 7: (size,)}[kind])
