"""Evaluator for OpenEvolve: the program that it evolves is an expression for rank, in a file such as initial.expr.

openevolve-run initial.expr evaluator.py --config config.yaml, with file_suffix: ".expr" in config.yaml. CACHESIM names
the program and CACHESIM_SUITE the traces, if they are not cachesim and web.
"""
import json
import os
import subprocess


def evaluate(program_path):
    command = [os.environ.get("CACHESIM", "cachesim"), "judge", "rank(file='%s')" % program_path,
               "--suite", os.environ.get("CACHESIM_SUITE", "web"), "--budget", "60s"]
    judged = subprocess.run(command, capture_output=True, text=True)
    if judged.returncode != 0:  # no expression, or one that takes too long: stderr says what is wrong
        return {"combined_score": -1.0, "error": judged.stderr.strip()}
    verdict = json.loads(judged.stdout)
    return {"combined_score": verdict["score"], "worst": verdict["worst"], "gap_closed": verdict["gap_closed"]}
