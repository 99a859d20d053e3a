# SPDX-License-Identifier: MIT
"""test_contention.py - make contention: each row of contend runs, and the page says which goals do not hold."""

import re

import pytest

from homeroom.experiments import beside, contention
from homeroom.experiments.beside import Result

RUN = contention.boot("sf3800", list(contention.ROWS))


def rates(one: float, two: float, eight: float, **others: tuple[float, float, float]) -> Result:
    """A result of three rounds: these rates in each row, but for `others`; the rounds differ by 10 %."""
    figures = {}
    for row in contention.ROWS:
        for n, value in zip((1, 2, 8), others.get(row, (one, two, eight)), strict=True):
            figures[contention.rate(row, n)] = [value, value * 0.95, value * 1.05]
    return Result(figures, ["2020-01-02"], ["6.1.0-test"], [0.5])


def test_each_row_runs(boot_once):
    """Each row prints its line, with a positive total; the files are gone."""
    loop = f"for row in {' '.join(contention.ROWS)}; do for n in 1 8; do contend -n $n -t 20 $row || exit; done; done"
    outcome, text, _ = boot_once("sf3800", run=f"{loop}; ls -A /tmp", seed=7)
    assert outcome.status == 0, text
    found = beside.parse(text)
    for row in contention.ROWS:
        for n in 1, 8:
            assert float(found[contention.rate(row, n)]) > 0, f"{row}/{n}\n{text}"
    assert text.splitlines()[-1].startswith("result: "), text


def test_all_goals_hold():
    ours, linux = rates(1000, 1000, 950), rates(500, 450, 400)
    assert contention.faults(RUN, list(contention.ROWS), ours, linux) == []
    text = contention.page([RUN], {("sf3800", "homeroom"): ours, ("sf3800", "linux"): linux})
    assert "## Sun Fire 3800: 8 CPUs" in text and "does not hold" not in text.lower()
    assert (
        "| `map` | map and unmap 1 MiB | 1,000 (950 to 1,050) | 1,000 (950 to 1,050) | 950 (902 to 998) | 500 (475 to" in text
    )
    assert "| `map` | no | 1.00 | 0.95 | 0.90 | 0.80 | holds |" in text
    assert "| `map` | 0.00 | 52.63 | 222.22 | 500.00 |" in text
    assert "- Homeroom: 6.1.0-test, measured on 2020-01-02; load of the host: 0.5 to 0.5." in text
    assert "The rounds of half of the rates differ by at most 10 % of the median, those of all rates by 10 %." in text


@pytest.mark.parametrize(
    "row, values, missed",
    [
        ("map", (1000, 990, 890), "share 0.89, less than 0.9"),
        ("null", (1000, 990, 0), "share 0.00, less than 0.9"),
        ("protect", (1000, 500, 700), "share 0.70, Linux 0.80"),
        ("touch", (400, 400, 390), "rate 390, Linux 400"),
        ("fault", (520, 400, 390), "share 0.75, Linux 0.80; rate 390, Linux 400"),
        ("stat", (0, 0, 0), "share 0.00, less than 0.9"),
    ],
)
def test_a_goal_that_does_not_hold_is_named(row, values, missed):
    ours, linux = rates(1000, 1000, 950, **{row: values}), rates(500, 450, 400)
    sentence = f"Does not hold: sf3800: `{row}` with 8 workers: {missed}."
    assert contention.faults(RUN, list(contention.ROWS), ours, linux) == [sentence]
    text = contention.page([RUN], {("sf3800", "homeroom"): ours, ("sf3800", "linux"): linux})
    assert f"- {sentence}\n" in text
    assert len(re.findall(r"\| does not hold: 8 \|$", text, re.M)) == 1


def test_a_shootdown_row_may_lose_what_linux_loses():
    """A row that needs a shootdown is compared with Linux only, another only with one worker."""
    ours, linux = rates(1000, 500, 300), rates(1000, 400, 200)
    found = contention.faults(RUN, list(contention.ROWS), ours, linux)
    assert [re.search("`(.*)`", text)[1] for text in found] == ["map", "create", "create-proc", "stat", "null"]


def test_time_that_the_host_took_does_not_count():
    """Rates are divided by the share that QEMU got between two result lines."""
    lines = [
        "result: bench=system begin=1",
        "result: bench=contend row=map/1 rate=90",
        "result: bench=contend row=map/8 rate=60",
    ]
    seen = list(zip(lines, [(10.0, 1.0), (12.0, 1.5), (14.0, 2.5)], strict=True))
    assert beside.host_lines(seen) == ["result: bench=host row=map/1 got=0.750\n", "result: bench=host row=map/8 got=0.500\n"]
    figures = {name(row, n): [90.0 if name == contention.rate else 0.75] for name in (contention.rate, contention.got)
               for row in contention.ROWS for n in (1, 2, 8)}  # fmt: skip
    right = contention.correct(Result(figures, [], []), RUN, ["map"])
    assert right.figures == {contention.rate("map", n): [120.0] for n in (1, 2, 8)}


def test_a_failed_round_gives_no_page(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(contention, "PAGE", tmp_path / "contention.md")
    monkeypatch.setattr(beside, "OUT", tmp_path)
    monkeypatch.setattr(beside, "execute", lambda *_: "contention/sf3800 on Linux: status 2: contend: mmap: no memory (a log)")
    monkeypatch.setattr("sys.argv", ["contention"])
    assert contention.main() == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("contention: contention/sf3800 on Linux: status 2")
    assert not (tmp_path / "contention.md").exists()
