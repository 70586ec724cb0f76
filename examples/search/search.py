#!/usr/bin/env python3
"""A random search over expressions for rank, by `cachesim judge`: search.py [CACHESIM [SUITE [CANDIDATES [SEED]]]].

It draws expressions, changes the best ones, and prints each that is better than all before. At the end it scores the
best one on the traces that were held out.
"""
import json
import random
import subprocess
import sys

cachesim, suite, candidates, seed = (sys.argv[1:] + ["cachesim", "web", "300", "1"][len(sys.argv) - 1:])[:4]
rng = random.Random(int(seed))
NUMBERS = ["hits", "requests", "total", "size", "(now - loaded)", "(now - last)", "gap(1)", "victim", "ghost", "1", "10"]
OPERATORS = ["+", "-", "*", "/", "/", "*"]


def draw(depth):
    """Returns an expression as a tree: a name, or (operator, left, right)."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(NUMBERS)
    return rng.choice(OPERATORS), draw(depth - 1), draw(depth - 1)


def change(tree):
    """Returns the tree with one of its parts drawn anew."""
    if isinstance(tree, str) or rng.random() < 0.3:
        return draw(2)
    operator, left, right = tree
    return (operator, change(left), right) if rng.random() < 0.5 else (operator, left, change(right))


def text(tree):
    return tree if isinstance(tree, str) else "(%s %s %s)" % (text(tree[1]), tree[0], text(tree[2]))


judge = subprocess.Popen([cachesim, "judge", "--suite", suite, "--serve", "-"], text=True, bufsize=1,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
best = []  # (score, tree), the best first
for number in range(int(candidates)):
    tree = draw(3) if len(best) < 8 or rng.random() < 0.3 else change(rng.choice(best)[1])
    judge.stdin.write(text(tree) + "\n")
    verdict = json.loads(judge.stdout.readline())
    if "error" in verdict:  # as of an expression that is the same for all objects
        continue
    if not best or verdict["score"] > best[0][0]:
        print("%4d  %+.4f  %s" % (number, verdict["score"], text(tree)), flush=True)
    best = sorted(best + [(verdict["score"], tree)], key=lambda b: -b[0])[:8]
judge.stdin.close()
judge.wait()
out = subprocess.run([cachesim, "judge", text(best[0][1]), "--suite", suite, "--holdout"], text=True, check=True,
                     stdout=subprocess.PIPE).stdout
verdict = json.loads(out)
print("held out: %+.4f, searched: %+.4f" % (verdict["held_out"]["score"], verdict["score"]))
