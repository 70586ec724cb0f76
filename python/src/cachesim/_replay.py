"""The commands run, curve, check and compare."""
from __future__ import annotations

import json
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, List, Sequence, Union

from ._policies import Policy, Served
from ._program import Error, call, said
from ._results import Check, Record, Results

PathText = Union[str, "os.PathLike[str]"]
OnePolicy = Union[str, Policy, type]


def run(trace: PathText | Sequence[PathText], policy: OnePolicy | Sequence[OnePolicy] | None = None,
        capacity: str | int | None = None, **flags: Any) -> Results:
    """Replays a trace under each policy at each capacity, as the command run.

    trace is a file, several, or a generator such as "zipf(alpha=0.9)". policy is a name of the program with parameters,
    an object or class of yours (see Policy), or a list of these; None takes the program's choice. capacity counts
    objects (100), bytes ("64MiB") or a share ("1%"), or is a list or range of these ("1%..20%x2"). Other flags of the
    command are keywords: cache="prefix", seed=3, unit_size=True.
    """
    return replay("run", trace, policy, capacity, flags)


def curve(trace: PathText | Sequence[PathText], policy: OnePolicy | Sequence[OnePolicy] | None = None,
          capacity: str | int | None = None, **flags: Any) -> Results:
    """Computes hit ratios over all capacities, as the command curve: those of LRU in one pass, others at points."""
    return replay("curve", trace, policy, capacity, flags)


def check(baseline: PathText, **flags: Any) -> Check:
    """Replays what a baseline recorded, a folder of run(..., output=...) or its records, and compares."""
    done = call(["check", os.fspath(baseline), "--format", "json", "--quiet", *options(flags)], fine=(0, 1))
    judged = json.loads(done.stdout)
    return Check(judged["passed"], judged["results"], "" if judged["passed"] else said(done.stderr))


def compare(old: PathText, *new: PathText, **flags: Any) -> List[Record]:
    """Compares the results of runs, as the command compare.

    A row has the place of two records (capacity, policy and what else differs), the names of their runs (from, to),
    both values, their difference and the outcome.
    """
    args = ["compare", *(os.fspath(run) for run in (old, *new)), "--format", "json", *options(flags)]
    compared = json.loads(call(args, fine=(0, 1)).stdout)["comparisons"]
    return [{"from": pair["old"], "to": pair["new"], **row.pop("at"), **row}
            for pair in compared for row in pair["rows"]]


def replay(command: str, trace: PathText | Sequence[PathText], policy: OnePolicy | Sequence[OnePolicy] | None,
           capacity: str | int | None, flags: dict[str, Any]) -> Results:
    traces = [trace] if isinstance(trace, (str, os.PathLike)) else list(trace)
    with ExitStack() as stack:
        args = [command, *(os.fspath(t) for t in traces), "--format", "json", *options(flags)]
        served = stack.enter_context(Served(listed(policy)))
        if served.names:
            args += ["--policy", ",".join(served.names)]
        if capacity is not None:
            args += ["--capacity", str(capacity)]
        out = flags.get("output")
        if out is None:
            out = stack.enter_context(tempfile.TemporaryDirectory())
            args += ["--output", out]
        try:
            done = call(args, env=served.environment)
        except Error as failed:
            raise failed from served.failure
        records = [served.named(r) for r in rows(done.stdout)]
        figures = {path.stem: path.read_text(encoding="utf-8") for path in sorted(Path(out).glob("*.svg"))}
        notes = [line for line in done.stderr.splitlines() if line and os.fspath(out) not in line]
        return Results(records, notes, figures)


def listed(policy: OnePolicy | Sequence[OnePolicy] | None) -> List[OnePolicy]:
    if policy is None:
        return []
    if isinstance(policy, (list, tuple)):
        return list(policy)
    return [policy]  # type: ignore[list-item]


def options(flags: dict[str, Any]) -> List[str]:
    """Keywords as flags: unit_size=True is --unit-size, seed=3 is --seed 3, None and False are left out."""
    args: List[str] = []
    for name, value in flags.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is True:
            args.append(flag)
        elif value is not None and value is not False:
            args += [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    return args


def rows(lines: str) -> List[Record]:
    return [json.loads(line) for line in lines.splitlines()]
