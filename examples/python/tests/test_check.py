import doctest
import io
import json
import os
import pickle
import subprocess
import threading

import pytest
import wrongturn as wt
from conftest import ROOT, SOUND, STUBBORN


def as_file(*runs):
    return "\n".join(json.dumps({"messages": run}) for run in runs)


#: Bundled runs of all formats, and directories of one's own.
CORPORA = [ROOT / "golden/tau2", ROOT / "tests/formats", *filter(None, os.environ.get("WRONGTURN_RUNS", "").split(":"))]


@pytest.mark.parametrize("corpus", CORPORA, ids=str)
def test_results_are_those_of_the_program(corpus, program, tmp_path):
    command = [program, "check", "--no-config", "--output-format", "json", "--output", tmp_path / "a.jsonl", corpus]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode in (0, 3), ended.stderr
    report = wt.check(corpus)
    assert report.figures == json.loads(ended.stdout)
    rows = []
    for line in (tmp_path / "a.jsonl").read_text().splitlines():
        record = json.loads(line)
        for verdict in record["verdicts"].values():
            for found in verdict.get("findings", ()):
                rows.append((record["trace"], found["id"], found.get("tool"), *found["where"]))
    table = report.findings.to_pydict()
    assert list(zip(*(table[name] for name in ("run", "id", "tool", "first", "last")), strict=True)) == rows != []


def test_sources_are_paths_globs_bytes_and_files(tmp_path):
    text = as_file(STUBBORN, SOUND)
    path = tmp_path / "runs.jsonl"
    path.write_text(text)
    by_path = wt.check(path)
    assert len(by_path) == 2 and by_path.flagged == 1
    with open(path) as opened:
        others = [str(path), tmp_path, f"{tmp_path}/*.jsonl", text.encode(), io.StringIO(text), opened]
        for source in others:
            report = wt.check(source)
            assert (len(report), report.flagged) == (2, 1), source
    assert len(wt.check([path, text.encode(), io.BytesIO(text.encode())])) == 6


def test_what_cannot_be_read_is_an_error_of_the_report(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"id": "a", "messages": []}\n{"id": "b", "messages": 7}\n{"id": "c", "messages": []}')
    report = wt.check([path, tmp_path / "gone.json"])
    assert len(report) == 2
    first, second = report.errors
    assert (first.path, first.run, first.line) == (str(path), 1, 2)
    assert second.kind == "io" and "gone.json" in str(second)
    assert str(first).startswith(f"{path}:2:")


def test_options_that_are_not_valid_raise():
    with pytest.raises(wt.WrongturnError, match="min_repeats"):
        wt.check(b"", config={"loop": {"min_repeats": 0}})
    with pytest.raises(wt.WrongturnError, match="lop"):
        wt.check(b"", detectors=["lop"])
    with pytest.raises(TypeError, match="expected a path"):
        wt.check(7)


def test_options_choose_detectors(golden):
    report = wt.check(golden / "tau2", detectors=["loop"], config={"loop": {"min_repeats": 6}})
    assert set(next(iter(report)).verdicts) == {"loop"}
    assert report.flagged < wt.check(golden / "tau2", detectors=["loop"]).flagged
    certain = wt.check(golden / "tau2", min_confidence="certain")
    assert set(certain.findings.to_pydict()["confidence"]) == {"certain"}


def test_runs_have_verdicts_and_findings():
    report = wt.check(as_file(STUBBORN).encode())
    (run,) = report
    finding = next(found for found in run.findings if found.detector == "feedback_blindness")
    assert finding.mode == "operation/feedback_blindness" and finding.first <= finding.last
    assert finding.tool == "get_order"
    assert run.verdicts["route_inefficiency"].detected is None
    assert run.verdicts["route_inefficiency"].reason
    assert report[run.id] == run and run.id in report
    with pytest.raises(KeyError):
        report["nobody"]


def test_reports_are_equal_and_pickle(golden):
    report = wt.check([golden / "tau2", as_file(STUBBORN).encode()])
    assert report == wt.check([golden / "tau2", as_file(STUBBORN).encode()])
    assert report != wt.check(golden / "tau2")
    copy = pickle.loads(pickle.dumps(report))
    assert copy == report and copy.runs == report.runs and copy.figures == report.figures
    assert list(copy)[-1].to_html() == list(report)[-1].to_html()
    run = next(iter(report))
    assert pickle.loads(pickle.dumps(run)) == run
    error = wt.WrongturnError("expected a list", "shape", "a.json", 1, 2, 3)
    assert pickle.loads(pickle.dumps(error)) == error
    assert repr(report).startswith("Report(409 runs, ")


def test_pages_show_the_steps_of_runs(golden, tmp_path):
    report = wt.check([golden / "tau2", as_file(STUBBORN).encode()])
    report.to_html(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "Flagged runs" in page
    of_bytes = list(report)[-1]
    assert "get_order" in of_bytes.to_html() and "feedback_blindness" in of_bytes.to_html()
    of_file = next(run for run in report if run.findings)
    assert of_file.to_html().count("<summary") >= of_file.steps
    assert of_file._repr_html_().startswith("<iframe srcdoc=")


def test_tables_leave_as_arrow(golden):
    findings = wt.check(golden / "tau2").findings
    columns = findings.to_pydict()
    assert set(columns) == set(findings.column_names)
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(findings).to_pydict() == columns
    pandas = pytest.importorskip("pandas")
    assert findings.to_pandas()["run"].to_list() == columns["run"]
    assert isinstance(findings.to_pandas(), pandas.DataFrame)
    pytest.importorskip("polars")
    assert findings.to_polars()["message"].to_list() == columns["message"]
    duckdb = pytest.importorskip("duckdb")
    counted = duckdb.sql("select count(*) from findings").fetchall()
    assert counted == [(len(findings),)]


def test_tables_do_not_need_pyarrow(golden, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    runs = wt.check(golden / "tau2").runs
    assert len(runs.to_pandas()) == len(runs) == 408


def test_checks_run_in_threads(golden):
    reports = []
    workers = [threading.Thread(target=lambda: reports.append(wt.check(golden / "tau2", threads=1))) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert reports[0] == reports[1] == reports[2]


def test_the_lock_is_released_while_files_are_read(golden):
    source, ticks, done = [golden / "tau2"], [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            done.wait(0.001)

    worker = threading.Thread(target=tick)
    worker.start()
    before = len(ticks)
    wt.check(source)
    during = len(ticks) - before
    done.set()
    worker.join()
    assert during > 3


def test_progress_is_written_to_stderr(golden, capsys):
    wt.check(golden / "tau2", progress=True)
    assert "100%  408 runs" in capsys.readouterr().err


@pytest.mark.parametrize("module", [wt, wt._detector, wt._monitor, wt._results], ids=lambda module: module.__name__)
def test_examples_of_docstrings(module):
    outcome = doctest.testmod(module, extraglobs={"detector": wt.detector, "Found": wt.Found})
    assert outcome.failed == 0 and outcome.attempted > 0
