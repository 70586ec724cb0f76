"""Prints the hit ratios of a policy of libCacheSim at some capacities, a line for each: TRACE POLICY CAPACITIES.

The loop over the requests is the package's own, in C. The table of objects has the size that the package chooses.
"""

import sys

import libcachesim as lcs


def open_trace(path):
    """Returns a reader of a trace; every object takes one place."""
    if path.endswith(".csv"):
        form = lcs.ReaderInitParam(ignore_obj_size=True, has_header=True, has_header_set=True)
        header = open(path).readline().strip().split(",")
        form.obj_id_field = header.index("key") + 1
        if "time" in header:
            form.time_field = header.index("time") + 1
        return lcs.TraceReader(path, lcs.TraceType.CSV_TRACE, form)
    return lcs.TraceReader(path, lcs.TraceType.ORACLE_GENERAL_TRACE, lcs.ReaderInitParam(ignore_obj_size=True))


def main():
    path, policy, capacities = sys.argv[1:]
    for capacity in capacities.split(","):
        misses, _ = getattr(lcs, policy)(int(capacity)).process_trace(open_trace(path))
        print(1 - misses)


main()
