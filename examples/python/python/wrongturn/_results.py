"""Statistics on data frames and files, comparisons and calibration."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from . import _native
from ._detector import Confidence, Detectors, selection
from ._report import Report, Result

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def paths_of(source: Paths) -> list[str]:
    if isinstance(source, (str, os.PathLike)):
        return [os.fspath(source)]
    return [os.fspath(path) for path in source]


def _is_paths(source: Any) -> bool:
    if isinstance(source, (str, os.PathLike)):
        return True
    return isinstance(source, (list, tuple)) and all(isinstance(one, (str, os.PathLike)) for one in source)


def _column(frame: Any, name: str) -> list[Any]:
    """A column of a data frame of pandas, polars or pyarrow, or of a dict of lists. Missing values are None."""
    column = frame[name]
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            column = getattr(column, method)()
            break
    return [None if isinstance(value, float) and math.isnan(value) else value for value in column]


def _keys(frame: Any, names: str | Sequence[str], rows: int) -> list[Hashable]:
    """The values of one or more columns, row by row."""
    columns = [_column(frame, name) for name in ([names] if isinstance(names, str) else names)]
    return list(zip(*columns, strict=True)) if columns else [()] * rows


def _numbered(keys: Iterable[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _sampling(resamples: int, seed: int, confidence: float) -> str:
    return json.dumps({"resamples": resamples, "seed": seed, "confidence": confidence})


def replicate(
    data: Any,
    *,
    rate: str = "recovery_rate",
    reward: str = "reward",
    cluster: str | Sequence[str] = "task",
    group: str | Sequence[str] | None = None,
    min_n: int = 20,
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Result:
    """Correlates a measure of runs with their reward, allowing for runs that are alike.

    `data` is a data frame (pandas, polars, pyarrow, or a dict of lists) with the columns `rate` and `reward`. Rows
    with the same values in `cluster` are resampled together; with `group` the correlation is also taken within groups,
    and pooled over them. Rows without a rate or a reward are left out and counted in ``"left_out"``.

    If `data` is a path or a list of paths to tau2 results, the result is that of the command `wrongturn replicate`.
    `cluster` is then "task", "file", "model-domain" or "none", and `rate`, `reward` and `group` are not used.

    >>> frame = {"recovery_rate": [0, .2, .9, 1, .4, 1], "reward": [0, 0, 1, 1, 0, 1], "task": list("aabbcd")}
    >>> round(replicate(frame)["pearson"]["r"], 2)
    0.95
    """
    sampling = _sampling(resamples, seed, confidence)
    if _is_paths(data):
        by = cluster if isinstance(cluster, str) else "-".join(cluster)
        return Result._of(_native.replicate(paths_of(data), by, min_n, sampling))
    x, y = _column(data, rate), _column(data, reward)
    clusters = _keys(data, cluster, len(x))
    groups = None if group is None else _keys(data, group, len(x))
    kept = [row for row, pair in enumerate(zip(x, y, strict=True)) if None not in pair]
    figures: dict[str, Any] = json.loads(
        _native.associate(
            [float(x[row]) for row in kept],
            [float(y[row]) for row in kept],
            _numbered(clusters[row] for row in kept),
            None if groups is None else _numbered(groups[row] for row in kept),
            sampling,
        )
    )
    figures["left_out"] = len(x) - len(kept)
    return Result(figures, _described(figures, rate, reward), "")


def _described(figures: Mapping[str, Any], rate: str, reward: str) -> str:
    """One line for each correlation, with its interval."""
    lines = [f"{rate} against {reward}, {figures['n']} runs in {figures['clustered']['clusters']} clusters"]
    for label, name, clustered in (
        ("r", "pearson", "clustered"),
        ("r within groups", "within", "within_clustered"),
    ):
        correlation = figures.get(name)
        if correlation is None:
            continue
        if "undefined" in correlation:
            lines.append(f"  {label}: not defined, {correlation['undefined']}")
            continue
        widened = figures[clustered]["widened"]
        interval = (
            "no clustered interval" if widened is None else "clustered interval [{:+.3f}, {:+.3f}]".format(*widened)
        )
        lines.append(f"  {label} = {correlation['r']:+.3f}, {interval}")
    return "\n".join(lines) + "\n"


def _rows(frame: Any, task: str, reward: str, domain: str | None, trial: str | None) -> str:
    tasks, rewards = _column(frame, task), _column(frame, reward)
    domains = [None] * len(tasks) if domain is None else _column(frame, domain)
    trials = [None] * len(tasks) if trial is None else _column(frame, trial)
    return json.dumps(
        [
            {
                "task": None if one is None else str(one),
                "reward": None if value is None else float(value),
                "domain": None if place is None else str(place),
                "trial": None if number is None else int(number),
            }
            for one, value, place, number in zip(tasks, rewards, domains, trials, strict=True)
        ]
    )


def compare(
    before: Any,
    after: Any,
    *,
    labels: tuple[str, str] = ("before", "after"),
    task: str = "task",
    reward: str = "reward",
    domain: str | None = None,
    trial: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Result:
    """Compares two agents, or two versions of one, on the tasks that both tried.

    Each side is a :class:`Report`, paths, which are checked first, or a data frame with the columns `task` and
    `reward` and, if named, `domain` and `trial`. Intervals come from resampled tasks.

    >>> before = {"task": list("aabbcc"), "reward": [0, 0, 1, 0, 0, 1]}
    >>> after = {"task": list("aabbcc"), "reward": [1, 0, 1, 1, 1, 1]}
    >>> compare(before, after)["paired"]["second_only"]
    3
    """
    from . import check

    sides = [check(paths_of(side)) if _is_paths(side) else side for side in (before, after)]
    sampling = _sampling(resamples, seed, confidence)
    if all(isinstance(side, Report) for side in sides):
        first, second = (side._native for side in sides)
        return Result._of(_native.compare_reports(first, second, labels, sampling))
    if any(isinstance(side, Report) for side in sides):
        raise TypeError("expected two reports or two data frames, got one of each")
    first, second = (_rows(side, task, reward, domain, trial) for side in sides)
    return Result._of(_native.compare_runs(first, second, labels, sampling))


def calibrate(
    golden: Paths,
    *,
    detectors: Detectors | None = None,
    config: Mapping[str, Mapping[str, Any]] | None = None,
    min_confidence: Confidence = "likely",
    trials: int = 4,
    seed: int = 0,
) -> Result:
    """Measures detectors on labelled runs: precision, recall, intervals, readiness tiers.

    `golden` is one or more directories or files of golden entries, one JSON object per line.
    """
    options, custom = selection(detectors, config, min_confidence, "agent")
    if custom:
        raise TypeError("expected names of detectors: golden entries name those of the library")
    return Result._of(_native.calibrate(paths_of(golden), json.dumps(options), trials, seed))
