import os
import re

import pytest
from conftest import ROOT

PAGES = ["README.md", "src/guide/python.md", "examples/python/README.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_snippets_of_a_page_run_from_top_to_bottom(page, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    (tmp_path / "golden").symlink_to(ROOT / "golden")
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert snippets
    names = {"__name__": page}
    for snippet in snippets:
        exec(compile(snippet, page, "exec"), names)
    assert os.listdir(tmp_path)


@pytest.mark.parametrize("notebook", ["guide.ipynb", "afternoon.ipynb"])
def test_a_notebook_runs_from_top_to_bottom(notebook, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("matplotlib")
    (tmp_path / "golden").symlink_to(ROOT / "golden")
    content = nbformat.read(ROOT / "examples/python/notebooks" / notebook, as_version=4)
    lines = [line for cell in content.cells if cell.cell_type == "code" for line in cell.source.splitlines() if line]
    assert len(lines) <= 30
    ran = nbclient.NotebookClient(
        content, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    ran.execute()
    assert any("data" in output for cell in content.cells for output in cell.get("outputs", ()))
