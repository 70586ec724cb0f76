"""Answers what caches of cachetools hit. A policy is a class of the package: LFUCache. ../../README.md says how it is
asked."""

import struct
import sys

import cachetools

REMOVAL = -2


def read(path):
    """Returns the records: time, object, size, next."""
    with open(path, "rb") as file:
        return list(struct.iter_unpack("<IQIq", file.read()))


def replay(cache, records):
    """Returns the numbers of requests, of hits, and of bytes that hit. The value of an object is its size."""
    count = hits = hit_bytes = 0
    for _, object_id, size, next_use in records:
        if next_use == REMOVAL:
            cache.pop(object_id, None)
            continue
        count += 1
        if cache.get(object_id) is not None:
            hits += 1
            hit_bytes += size
        elif cache.getsizeof(size) <= cache.maxsize:
            cache[object_id] = size
    return count, hits, hit_bytes


def main():
    records = read(sys.argv[1])
    for line in sys.stdin:
        try:
            policy, capacity, unit = line.rstrip("\n").split("\t")
            sizes = {"getsizeof": int} if unit == "bytes" else {}
            counts = replay(getattr(cachetools, policy)(int(capacity), **sizes), records)
            print(*counts, sep="\t", flush=True)
        except Exception as error:
            print("error", " ".join(str(error).split()) or type(error).__name__, sep="\t", flush=True)


main()
