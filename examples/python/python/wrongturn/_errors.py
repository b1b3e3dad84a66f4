"""The exception of the package."""

from __future__ import annotations


class WrongturnError(Exception):
    """An input that cannot be read, or an option that is not valid.

    `kind` is the category, such as ``"syntax"`` or ``"config"``. `path`, `run` (its position in the file), `line` and
    `column` say where, if that is known.
    """

    def __init__(
        self,
        message: str,
        kind: str,
        path: str | None = None,
        run: int | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message, kind, path, run, line, column)
        self.message = message
        self.kind = kind
        self.path = path
        self.run = run
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = []
        if self.path is not None:
            place.append(self.path if self.line is None else f"{self.path}:{self.line}:{self.column}")
        if self.run is not None:
            place.append(f"run {self.run}")
        if self.path is None and self.line is not None:
            place.append(f"line {self.line} column {self.column}")
        return ": ".join([*place, self.message])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrongturnError) and self.args == other.args

    def __hash__(self) -> int:
        return hash(self.args)


class LoopDetected(Exception):
    """Raised if the agent continues a pattern that a detector has confirmed."""
