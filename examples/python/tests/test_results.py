import json
import subprocess

import pytest
import wrongturn as wt

#: 40 runs of 20 tasks by two models. Two of them lack a value.
FRAME = {
    "rate": [None, *(run * 7 % 11 / 10 for run in range(1, 40))],
    "reward": [0, *(round(run * 7 % 11 / 10 + run % 3 / 4) for run in range(1, 39)), None],
    "task": [run // 2 for run in range(40)],
    "model": ["m", "n"] * 20,
}


def test_files_replicate_as_the_program_does(golden, program):
    command = [program, "replicate", golden / "tau2", "--resamples", "200", "--json", "-"]
    printed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    result = wt.replicate(golden / "tau2", resamples=200)
    assert result.figures == {name: printed[name] for name in result.figures}
    assert result["overall"]["sims"] == 408
    assert result.text.startswith("408 runs (") and result.html.startswith("<!DOCTYPE html>")


def test_data_frames_replicate(golden):
    result = wt.replicate(FRAME, rate="rate", group="model")
    assert (result["n"], result["left_out"]) == (38, 2)
    assert result["clustered"]["clusters"] == 20
    assert result["pearson"]["r"] == pytest.approx(0.6558778291195979, rel=1e-12)
    assert "within" in result and "clustered interval [" in str(result)
    assert wt.replicate(FRAME, rate="rate", seed=1)["clustered"] != result["clustered"]
    pandas = pytest.importorskip("pandas")
    assert wt.replicate(pandas.DataFrame(FRAME), rate="rate", group="model") == result
    polars = pytest.importorskip("polars")
    assert wt.replicate(polars.DataFrame(FRAME), rate="rate", group="model") == result
    pyarrow = pytest.importorskip("pyarrow")
    assert wt.replicate(pyarrow.table(FRAME), rate="rate", group="model") == result


def test_a_report_is_a_data_frame_for_statistics(golden):
    runs = wt.check(golden / "tau2").runs.to_pydict()
    result = wt.replicate(runs, rate="tool_error_recovery.goal_recovery", cluster=["domain", "task"], group="model")
    assert result["n"] == 408 and -1 <= result["pearson"]["r"] <= 1


def test_columns_that_do_not_vary_have_no_correlation():
    result = wt.replicate({"recovery_rate": [1, 1, 1], "reward": [0, 1, 0], "task": [1, 2, 3]})
    assert result["pearson"] == {"undefined": "x does not vary"}
    assert "not defined, x does not vary" in result.text


def test_reports_compare_as_the_program_does(golden, program):
    files = sorted((golden / "tau2").glob("*_airline.json"))[:2]
    command = [program, "compare", *files, "--json", "-"]
    printed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    result = wt.compare(*files, labels=tuple(map(str, files)))
    assert result.figures == printed
    assert wt.compare(*map(wt.check, files))["tasks"] == printed["tasks"]


def test_data_frames_compare():
    before = {"task": list("aabbcc"), "reward": [0, 0, 1, 0, 0, 1]}
    after = {"task": list("aabbcc"), "reward": [1, 0, 1, 1, 1, 1]}
    result = wt.compare(before, after, labels=("v1", "v2"))
    assert (result["tasks"], result["paired"]["second_only"]) == (3, 3)
    assert result["success"]["difference"] == pytest.approx(0.5)
    assert "v1" in result.text and "v2" in result._repr_html_()
    with pytest.raises(TypeError, match="one of each"):
        wt.compare(before, wt.check(b"{}"))


def test_golden_entries_calibrate(golden, program):
    command = [program, "calibrate", "--detectors", "loop", "--json", "-"]
    printed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    result = wt.calibrate(golden, detectors=["loop"])
    assert result["detectors"] == printed["detectors"]
    with pytest.raises(wt.WrongturnError):
        wt.calibrate("gone/")
