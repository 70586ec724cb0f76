"""The program in the wheel, and what it says."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Mapping, NoReturn, Sequence


class Error(Exception):
    """What the program says is wrong: what was found, what was expected, what to do."""


def program() -> str:
    """The path of the program: the one in the wheel, or that of the environment variable CACHESIM_PROGRAM."""
    name = "cachesim.exe" if os.name == "nt" else "cachesim"
    return os.environ.get("CACHESIM_PROGRAM") or str(Path(__file__).parent / "bin" / name)


def main() -> NoReturn:
    """Is the command cachesim."""
    command = [program(), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.run(command, check=False).returncode)
    os.execv(command[0], command)


def call(args: Sequence[str], env: Mapping[str, str] | None = None,
         fine: Sequence[int] = (0,)) -> subprocess.CompletedProcess[str]:
    """Runs the program to its end. Another exit code than the fine ones is an Error."""
    try:
        done = subprocess.run([program(), *args], env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, encoding="utf-8", check=False)
    except FileNotFoundError:
        raise Error(f"{program()} is not there; install the wheel, or set CACHESIM_PROGRAM to the program") from None
    if done.returncode not in fine:
        raise Error(said(done.stderr) or f"the program ended with the code {done.returncode}")
    return done


def said(stderr: str) -> str:
    """The error that the program printed behind its notes, without its name."""
    _, begins, error = stderr.rpartition("cachesim: ")
    return error.strip() if begins else stderr.strip()
