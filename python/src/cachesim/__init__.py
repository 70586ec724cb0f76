"""Replays traces through caches under many policies, those of your own among them.

run and curve replay a trace and return Results, which are records, a table in a notebook, and a DataFrame of pandas or
polars. A class with a method victim is a policy beside the names of the program's own. check and compare are for
results that must not move.
"""
from ._policies import Policy, serve
from ._program import Error, program
from ._replay import check, compare, curve, run
from ._results import Check, Record, Results

__version__ = "0.1.0"
__all__ = ["Check", "Error", "Policy", "Record", "Results", "check", "compare", "curve", "program", "run", "serve"]
