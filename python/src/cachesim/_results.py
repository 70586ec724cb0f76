"""What replays come to."""
from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Sequence, overload

if TYPE_CHECKING:
    import pandas
    import polars

# A record: the result of one policy at one capacity. docs/metrics.md of the program has the names of its values.
Record = Dict[str, Any]

# The columns that a notebook shows, of those that a record has.
SHOWN = ["trace", "cache", "capacity_text", "capacity", "label", "hit_ratio", "byte_hit_ratio", "misses",
         "competitive_ratio"]


@dataclass(frozen=True)
class Results(Sequence[Record]):
    """Records in the order of the program, with what it noted and the figures it drew."""

    records: List[Record]
    notes: List[str] = field(default_factory=list)
    figures: Dict[str, str] = field(default_factory=dict)  # SVG, by the name of the metric

    @overload
    def __getitem__(self, at: int) -> Record: ...

    @overload
    def __getitem__(self, at: slice) -> List[Record]: ...

    def __getitem__(self, at: int | slice) -> Record | List[Record]:
        return self.records[at]

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each record. It needs pandas."""
        import pandas

        return pandas.DataFrame(self.records)

    def to_polars(self) -> polars.DataFrame:
        """A row for each record. It needs polars."""
        import polars

        return polars.DataFrame(self.records, infer_schema_length=None)

    def _repr_html_(self) -> str:
        columns = [c for c in SHOWN if any(r.get(c) is not None for r in self.records)]
        for constant in ("trace", "cache"):
            if constant in columns and len({r.get(constant) for r in self.records}) < 2:
                columns.remove(constant)
        head = "".join(f"<th>{html.escape(c)}</th>" for c in columns)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell(r.get(c)))}</td>" for c in columns) + "</tr>"
                       for r in self.records)
        figure = self.figures.get("hit_ratio", "")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{figure}"


def cell(value: Any) -> str:
    """A value as the table has it."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Check:
    """What a check of a baseline came to. It is true if nothing has moved."""

    passed: bool
    rows: List[Record]  # one for each record of the baseline, with its status and its differences
    message: str  # why it has failed; "" if it has not

    def __bool__(self) -> bool:
        return self.passed
