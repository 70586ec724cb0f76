from typing import Any, Callable, Optional

def run(policy: Callable[[int], Any], name: Optional[str] = None, source: str = "", read: int = 0,
        write: int = 1) -> None: ...
