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
    folder = ROOT / "examples" / "python"
    checked = subprocess.run([sys.executable, "-m", checker], cwd=folder, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
