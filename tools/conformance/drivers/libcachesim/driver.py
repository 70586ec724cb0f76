"""Answers what libCacheSim hits, through its Python package. README.md above says how it is asked.

A policy is a class of the package, with its parameters: Clock(n_bit_counter=2). A question is one call of get for each
request, and one of remove for each removal.
"""

import struct
import sys

import libcachesim

REMOVAL = -2
NEVER = (1 << 63) - 1  # what its own reader says of an object that is not requested again


def read(path):
    """Returns the records: time, object, size, next."""
    with open(path, "rb") as file:
        return list(struct.iter_unpack("<IQIq", file.read()))


def to_requests(records, in_bytes):
    """Returns a request for each record, and None for a removal."""
    requests = []
    for time, object_id, size, next_use in records:
        if next_use == REMOVAL:
            requests.append(None)
            continue
        r = libcachesim.Request()
        r.clock_time, r.obj_id, r.obj_size = time, object_id, size if in_bytes else 1
        r.op = libcachesim.ReqOp.OP_GET
        r.next_access_vtime = NEVER if next_use == -1 else next_use
        requests.append(r)
    return requests


def new_cache(policy, capacity):
    """Returns an empty cache of a policy. The table of objects grows from 2^16 places, not from 2^24 as by default."""
    name, _, text = policy.rstrip(")").partition("(")
    parameters = {"hashpower": 16}
    for assignment in filter(None, text.split(",")):
        key, _, value = assignment.partition("=")
        try:
            parameters[key] = int(value)
        except ValueError:
            parameters[key] = float(value) if value.replace(".", "", 1).isdigit() else value
    return getattr(libcachesim, name)(capacity, **parameters)


def replay(cache, records, requests):
    """Returns the numbers of requests, of hits, and of bytes that hit."""
    count = hits = hit_bytes = 0
    for record, request in zip(records, requests):
        if request is None:
            cache.remove(record[1])
            continue
        count += 1
        if cache.get(request):
            hits += 1
            hit_bytes += record[2]
    return count, hits, hit_bytes


def main():
    records = read(sys.argv[1])
    requests = {}
    for line in sys.stdin:
        try:
            policy, capacity, unit = line.rstrip("\n").split("\t")
            if unit not in requests:
                requests[unit] = to_requests(records, unit == "bytes")
            counts = replay(new_cache(policy, int(capacity)), records, requests[unit])
            print(*counts, sep="\t", flush=True)
        except Exception as error:
            print("error", " ".join(str(error).split()) or type(error).__name__, sep="\t", flush=True)


main()
