"""Reports of checks, and their parts."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._errors import WrongturnError

if TYPE_CHECKING:
    import pandas
    import polars


def _frame(page: str, height: str) -> str:
    """Returns a page in a frame, which keeps its styles out of the notebook."""
    source = html.escape(page, quote=True)
    return f'<iframe srcdoc="{source}" style="width:100%;height:{height};border:0" sandbox></iframe>'


class Table:
    """A table that pandas, polars, duckdb and pyarrow take without copying, through the Arrow PyCapsule interface."""

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    @property
    def column_names(self) -> list[str]:
        return self._native.column_names

    def __len__(self) -> int:
        return len(self._native)

    def to_pydict(self) -> dict[str, list[Any]]:
        """Returns the columns as lists."""
        return self._native.to_pydict()

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a pandas data frame. Goes through pyarrow if it is installed, which is faster."""
        try:
            import pyarrow
        except ImportError:
            import pandas

            return pandas.DataFrame(self.to_pydict())
        frame: pandas.DataFrame = pyarrow.table(self).to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars data frame."""
        import polars

        return polars.DataFrame(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._native == other._native

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.column_names)})"


@dataclass(frozen=True)
class Finding:
    """One failure: the steps `first` to `last`, a sentence, and the facts. `tool` is None if it is about several."""

    id: str
    detector: str
    mode: str
    first: int
    last: int
    confidence: str
    message: str
    evidence: Any = field(repr=False)
    cost: Mapping[str, int] | None = field(default=None, repr=False)
    tool: str | None = None

    @classmethod
    def _of(cls, value: Mapping[str, Any]) -> Finding:
        first, last = value["where"]
        return cls(
            id=value["id"],
            detector=value["id"].rsplit(":", 1)[0],
            mode=value["mode"],
            first=first,
            last=last,
            confidence=value["confidence"],
            message=value["message"],
            evidence=value["evidence"],
            cost=value.get("cost"),
            tool=value.get("tool"),
        )


@dataclass(frozen=True)
class Verdict:
    """The verdict of one detector on a run. `detected` is None if the detector does not apply; `reason` says why."""

    detected: bool | None
    score: float | None
    findings: tuple[Finding, ...]
    reason: str | None = None

    @classmethod
    def _of(cls, value: Mapping[str, Any]) -> Verdict:
        findings = tuple(Finding._of(finding) for finding in value.get("findings", ()))
        return cls(value.get("detected"), value.get("score"), findings, value.get("not_applicable"))


def _verdicts(value: Mapping[str, Any]) -> dict[str, Verdict]:
    return {detector: Verdict._of(verdict) for detector, verdict in value.items()}


@dataclass(frozen=True)
class Run:
    """One run of a report."""

    id: str
    file: str
    position: int
    reward: float | None
    steps: int
    metadata: Mapping[str, Any]
    verdicts: Mapping[str, Verdict]
    _report: _native.Report = field(repr=False, compare=False)
    _place: int = field(repr=False, compare=False)

    @property
    def findings(self) -> list[Finding]:
        return [finding for verdict in self.verdicts.values() for finding in verdict.findings]

    def to_html(self) -> str:
        """Returns a page with the steps of the run, read again from its source, and the findings under them."""
        return self._report.run_html(self._place)

    def _repr_html_(self) -> str:
        return _frame(self.to_html(), "24rem")


class Report:
    """The result of :func:`check`."""

    def __init__(self, native: _native.Report) -> None:
        self._native = native

    @property
    def runs(self) -> Table:
        """A row for each run: names, reward, size, and for each detector its verdict, score and measures."""
        return Table(self._native.runs())

    @property
    def findings(self) -> Table:
        """A row for each finding."""
        return Table(self._native.findings())

    @property
    def errors(self) -> list[WrongturnError]:
        """The inputs and runs that could not be read. The rest of the input was read."""
        return self._native.errors()

    @property
    def figures(self) -> dict[str, Any]:
        """The figures of ``wrongturn check --output-format json``."""
        figures: dict[str, Any] = json.loads(self._native.figures())
        return figures

    @property
    def flagged(self) -> int:
        """The number of runs in which at least one detector found something."""
        return self._native.counts()[1]

    def __len__(self) -> int:
        return len(self._native)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._native.place(id) is not None

    def __getitem__(self, id: str) -> Run:
        """Returns the first run with this id."""
        place = self._native.place(id)
        if place is None:
            raise KeyError(id)
        return self._run(place)

    def __iter__(self) -> Iterator[Run]:
        return map(self._run, range(len(self)))

    def _run(self, place: int) -> Run:
        value = json.loads(self._native.run(place))
        return Run(
            id=value["trace"],
            file=value["file"],
            position=value["position"],
            reward=value["reward"],
            steps=value["cost"]["steps"],
            metadata=value["metadata"],
            verdicts=_verdicts(value["verdicts"]),
            _report=self._native,
            _place=place,
        )

    def to_html(self, path: str | PathLike[str]) -> None:
        """Writes a page with tables, charts and the worst runs."""
        Path(path).write_text(self._native.html(), encoding="utf-8")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self._native == other._native

    def __repr__(self) -> str:
        return f"Report({len(self)} runs, {self.flagged} flagged, {len(self.errors)} errors)"

    def __str__(self) -> str:
        return self._native.text()

    def _repr_html_(self) -> str:
        return _frame(self._native.html(), "36rem")


@dataclass(frozen=True)
class Result(Mapping[str, Any]):
    """Figures by name, with the same text and page that the program `wrongturn` writes."""

    figures: dict[str, Any] = field(repr=False)
    text: str
    html: str = field(repr=False)

    @classmethod
    def _of(cls, rendered: tuple[str, str, str]) -> Result:
        figures, text, page = rendered
        return cls(json.loads(figures), text, page)

    def __getitem__(self, name: str) -> Any:
        return self.figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    def __str__(self) -> str:
        return self.text

    def to_html(self, path: str | PathLike[str]) -> None:
        """Writes the page."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        return _frame(self.html, "36rem")
