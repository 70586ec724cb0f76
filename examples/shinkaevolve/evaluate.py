"""Evaluator for ShinkaEvolve: evaluate.py --program_path initial.expr --results_dir results.

The program that it evolves is an expression for rank, in a file. CACHESIM names the program and CACHESIM_SUITE the
traces, if they are not cachesim and web.
"""
import argparse
import json
import os
import subprocess


def main(program_path, results_dir):
    command = [os.environ.get("CACHESIM", "cachesim"), "judge", "rank(file='%s')" % program_path,
               "--suite", os.environ.get("CACHESIM_SUITE", "web"), "--budget", "60s"]
    judged = subprocess.run(command, capture_output=True, text=True)
    correct = judged.returncode == 0
    metrics = {"combined_score": -1.0, "public": {}, "private": {}, "text_feedback": judged.stderr.strip()}
    if correct:
        verdict = json.loads(judged.stdout)
        metrics["combined_score"] = verdict["score"]
        metrics["public"] = {name: verdict[name] for name in ("score", "worst", "gap_closed")}
    os.makedirs(results_dir, exist_ok=True)
    for name, content in (("metrics.json", metrics), ("correct.json", {"correct": correct, "error": judged.stderr})):
        with open(os.path.join(results_dir, name), "w") as file:
            json.dump(content, file)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path", default="initial.expr")
    parser.add_argument("--results_dir", default="results")
    arguments = parser.parse_args()
    main(arguments.program_path, arguments.results_dir)
