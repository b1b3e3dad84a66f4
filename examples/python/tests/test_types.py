import subprocess
import sys

import pytest
from conftest import ROOT
from example import main


def test_the_example_runs(golden):
    assert "clustered interval" in main(str(golden / "tau2"))


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_the_example_and_the_package_type_check(checker):
    pytest.importorskip(checker)
    if checker == "pyright":
        # Without the SDK, pyright takes the module of the same name for it.
        pytest.importorskip("claude_agent_sdk")
    folder = ROOT / "examples" / "python"
    python = ["--pythonpath", sys.executable] if checker == "pyright" else []
    command = [sys.executable, "-m", checker, *python]
    checked = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
