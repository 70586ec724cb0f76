"""docs/notebook.ipynb shows what its cells give. UPDATE=1 writes its outputs."""
import ast
import json
import os
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def run(source, namespace):
    """What a notebook shows of a cell: the value of its last expression, as HTML where it has that."""
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), namespace)
    if last is None:
        return []
    value = eval(compile(last, "cell", "eval"), namespace)
    data = {"text/plain": lines(repr(value) if not isinstance(value, namespace["cachesim"].Results) else "Results")}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = lines(value._repr_html_())
    return [{"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}]


def lines(text):
    return text.splitlines(keepends=True)


def test_the_notebook_shows_what_its_cells_give(monkeypatch):
    monkeypatch.chdir(DOCS)
    path = DOCS / "notebook.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    namespace = {}
    fresh = json.loads(json.dumps(notebook))
    for cell in fresh["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = run("".join(cell["source"]), namespace)
    if os.environ.get("UPDATE") == "1":
        path.write_text(json.dumps(fresh, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    else:
        assert fresh == notebook, "UPDATE=1 writes what the cells give now"
