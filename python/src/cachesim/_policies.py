"""Policies that are objects of this process.

The program starts a small process for each replay, as for any exec(command=...). That one hands its pipes to this
process and waits; a thread here answers. So a policy may be anything that Python can hold, such as a class that was
defined in a notebook.
"""
from __future__ import annotations

import array
import copy
import inspect
import os
import secrets
import socket
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Protocol, Union, runtime_checkable

from . import _adapter
from ._program import Error
from ._results import Record

serve = _adapter.run


@runtime_checkable
class Policy(Protocol):
    """What decides what leaves a cache.

    A class is made with the capacity for each replay; of an object each replay gets a copy, whose capacity is set.
    Further methods are called where there are any: hit, miss, insert, admit (object, size, time), remove(object),
    resized(object, size), resize(capacity). Objects are numbers from 0.
    """

    def victim(self, object: Optional[int], size: int, time: int) -> int:
        """Returns the resident object to evict, so that object fits; object is None where the cache only shrinks."""


class Served:
    """Serves the policies of a list while the program runs."""

    def __init__(self, policies: List[Union[str, Policy, type]]) -> None:
        self.names: List[str] = []
        self.environment: Dict[str, str] = {}
        self.failure: Optional[BaseException] = None  # of a policy
        self._makers: Dict[str, Callable[[int], Any]] = {}
        for p in policies:
            self.names.append(p if isinstance(p, str) else self._add(p))
        self._stop: List[Callable[[], None]] = []

    def _add(self, policy: Any) -> str:
        if not callable(getattr(policy, "victim", None)):
            raise TypeError(f"{policy!r} has no method victim; want the name of a policy, or an object or class with "
                            "one")
        if os.name == "nt":
            raise Error("policies that are objects need pipes that Windows does not pass; write the class into a file "
                        "that ends with cachesim.serve(MyPolicy), and name it: exec(command=\"python my.py\")")
        name = policy.__name__ if inspect.isclass(policy) else type(policy).__name__
        name = next(n for n in [name, *(f"{name}{i}" for i in range(2, 1000))] if n not in self._makers)
        self._makers[name] = policy if inspect.isclass(policy) else lambda capacity: copied(policy, capacity)
        admits = ",admits=true" if hasattr(policy, "admit") else ""
        return f"exec(command={name}{admits})"

    def named(self, record: Record) -> Record:
        """A record in which policies of this process have the names of their classes."""
        command = str(record.get("params")).split(",")[0]
        if record.get("policy") == "exec" and command.startswith("command=") and command[8:] in self._makers:
            return {**record, "label": command[8:]}
        return record

    def __enter__(self) -> "Served":
        if self._makers:
            folder = tempfile.TemporaryDirectory()
            self._stop.append(folder.cleanup)
            self._listen(Path(folder.name))
        return self

    def __exit__(self, *_: object) -> None:
        for stop in self._stop[::-1]:
            stop()

    def _listen(self, folder: Path) -> None:
        token, address = secrets.token_hex(16), str(folder / "socket")
        bridge = Path(__file__).with_name("_bridge.py")
        for name in self._makers:
            script = folder / name
            script.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I -S '{bridge}' {name}\n", encoding="utf-8")
            script.chmod(0o700)
        server = socket.socket(socket.AF_UNIX)
        server.bind(address)
        server.listen(64)
        self._stop.append(server.close)
        self.environment = {"PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}",
                            "CACHESIM_BRIDGE": f"{token}:{address}"}
        threading.Thread(target=self._accept, args=(server, token), daemon=True).start()

    def _accept(self, server: socket.socket, token: str) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._answer, args=(connection, token), daemon=True).start()

    def _answer(self, connection: socket.socket, token: str) -> None:
        """Serves one replay, whose pipes come with the first message."""
        with connection:
            message, ancillary, _, _ = connection.recvmsg(4096, socket.CMSG_SPACE(2 * array.array("i").itemsize))
            pipes = array.array("i")
            for _, _, data in ancillary:
                pipes.frombytes(data[: len(data) - len(data) % pipes.itemsize])
            given, _, name = message.decode().partition(":")
            try:
                if secrets.compare_digest(given, token) and name in self._makers and len(pipes) == 2:
                    _adapter.run(self._makers[name], name=name, read=pipes[0], write=pipes[1])
                    connection.sendall(b"done")
            except (BrokenPipeError, SystemExit):
                pass  # the replay has ended
            except BaseException as failed:
                self.failure = failed
            finally:
                for pipe in pipes:
                    os.close(pipe)


def copied(policy: Any, capacity: int) -> Any:
    fresh = copy.deepcopy(policy)
    fresh.capacity = capacity
    return fresh
