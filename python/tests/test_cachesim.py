"""What the package promises, on the wheel as it is installed."""
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import pytest

import cachesim

TRACE = "zipf(objects=500,requests=20000)"


class LRU:
    """LRU, as a class that the package makes with the capacity."""

    def __init__(self, capacity=None):
        self.capacity = capacity
        self.order = OrderedDict()

    def hit(self, object, size, time):
        self.order.move_to_end(object)

    def insert(self, object, size, time):
        self.order[object] = True

    def remove(self, object):
        del self.order[object]

    def victim(self, object, size, time):
        return self.order.popitem(last=False)[0]


def test_run_returns_records():
    results = cachesim.run(TRACE, policy=["lru", "s3fifo(small=0.2)"], capacity="1%,10%", seed=3)
    assert [(r["label"], r["capacity_text"]) for r in results] == [
        ("lru", "1%"), ("s3fifo(small=0.2)", "1%"), ("lru", "10%"), ("s3fifo(small=0.2)", "10%")]
    assert all(r["seed"] == 3 and r["hits"] + r["misses"] == r["requests"] == 20000 for r in results)
    assert results[0] is results.records[0] and len(results[1:]) == 3
    assert any("generated" in note for note in results.notes)


def test_classes_and_objects_are_policies():
    results = cachesim.run(TRACE, policy=["lru", LRU, LRU()], capacity="10,1%..16%x4", jobs=2)
    misses = {}
    for r in results:
        misses.setdefault(r["capacity"], {})[r["label"]] = r["misses"]
    assert len(misses) == 4
    for at in misses.values():
        assert set(at) == {"lru", "LRU", "LRU2"} and len(set(at.values())) == 1


def test_a_policy_that_raises_is_the_cause():
    class Broken(LRU):
        def victim(self, object, size, time):
            raise RuntimeError("no idea")

    with pytest.raises(cachesim.Error, match="Broken") as caught:
        cachesim.run(TRACE, policy=Broken, capacity=10)
    assert str(caught.value.__cause__) == "no idea"


def test_a_policy_sees_every_hit_and_may_fail_at_the_last():
    class Counting(LRU):
        hits, fails_at = 0, None

        def hit(self, object, size, time):
            super().hit(object, size, time)
            type(self).hits += 1
            if self.hits == self.fails_at:
                raise RuntimeError("at the last")

    (record,) = cachesim.run(TRACE, policy=Counting, capacity=10)
    assert Counting.hits == record["requests"] - record["misses"]
    Counting.fails_at, Counting.hits = Counting.hits, 0
    with pytest.raises(cachesim.Error, match="Counting.*the policy failed") as caught:
        cachesim.run(TRACE, policy=Counting, capacity=10)
    assert str(caught.value.__cause__) == "at the last"


def test_a_policy_that_evicts_what_is_not_there():
    class Wrong(LRU):
        def victim(self, object, size, time):
            return 499 if 499 not in self.order else 498

    with pytest.raises(cachesim.Error, match="Wrong"):
        cachesim.run(TRACE, policy=Wrong, capacity=10)


@pytest.mark.parametrize("bad, said", [
    (dict(policy="lrv"), 'unknown policy "lrv"'),
    (dict(capacity="many"), '"many"'),
    (dict(colour="red"), "unknown flag --colour"),
    (dict(trace="nowhere.csv"), "nowhere.csv"),
])
def test_errors_are_those_of_the_program(bad, said):
    with pytest.raises(cachesim.Error) as caught:
        cachesim.run(**{"trace": TRACE, **bad})
    assert said in str(caught.value)
    assert not str(caught.value).startswith("cachesim: ")


def test_what_is_no_policy():
    with pytest.raises(TypeError, match="has no method victim"):
        cachesim.run(TRACE, policy=[len])


def test_curve_has_lru_at_all_points():
    results = cachesim.curve(TRACE, policy="s3fifo", capacity="10%", points=10)
    assert {r["policy"] for r in results} >= {"s3fifo"} and len(results) > 5


def test_notebooks_show_a_table_and_the_figure():
    shown = cachesim.run(TRACE, policy="lru,arc", capacity="1%,10%")._repr_html_()
    assert "<th>hit_ratio</th>" in shown and "<td>arc</td>" in shown and "<svg" in shown
    assert "<th>trace</th>" not in shown  # as there is one


def test_frames():
    results = cachesim.run(TRACE, policy="lru,arc", capacity="1%,10%")
    pandas = pytest.importorskip("pandas")
    frame = results.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame["label"]) == ["lru", "arc"] * 2
    pytest.importorskip("polars")
    assert results.to_polars()["misses"].to_list() == list(frame["misses"])


def test_check_and_compare(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    trace = tmp_path / "keys.txt"
    trace.write_text("a\nb\na\nc\nb\na\n")
    cachesim.run(trace, policy="lru", capacity=2, output=old)
    good = cachesim.check(old)
    assert good and good.message == "" and [row["status"] for row in good.rows] == ["equal"]
    trace.write_text("a\nb\nc\na\nb\nc\n")
    bad = cachesim.check(old)
    assert not bad and bad.rows[0]["status"] == "trace changed" and "1 trace changed" in bad.message
    cachesim.run(trace, policy="lru", capacity=2, output=new)
    (row,) = cachesim.compare(old, new, allow_trace_change=True)
    assert (row["from"], row["to"], row["policy"], row["new"], row["outcome"]) == ("old", "new", "lru", 0, "worse")


def test_the_command_is_the_program():
    command = Path(sys.executable).with_name("cachesim")
    said = subprocess.run([command, "version"], capture_output=True, text=True, check=True).stdout
    assert said.startswith(f"cachesim version {cachesim.__version__}")


def test_serve_makes_a_file_a_policy(tmp_path):
    (tmp_path / "fifo.py").write_text(
        "import cachesim\n\nclass FIFO:\n"
        "    def __init__(self, capacity):\n        self.order = []\n"
        "    def insert(self, object, size, time):\n        self.order.append(object)\n"
        "    def remove(self, object):\n        self.order.remove(object)\n"
        "    def victim(self, object, size, time):\n        return self.order.pop(0)\n\n"
        "cachesim.serve(FIFO)\n")
    file = f"exec(command=\"'{sys.executable}' '{tmp_path / 'fifo.py'}'\")"
    results = cachesim.run(TRACE, policy=["fifo", file], capacity="5%")
    assert results[0]["misses"] == results[1]["misses"]
