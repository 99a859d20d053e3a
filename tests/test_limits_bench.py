# SPDX-License-Identifier: MIT
"""test_limits_bench.py - make limits: each case runs, and the page says which goals do not hold."""

import pytest

from homeroom.experiments import limits, storage
from homeroom.machine import MachineError


def costs(name: str, few: float, many: float, **others: tuple[float, float]) -> dict[str, float]:
    """Costs of a case: these in each operation, but for `others`."""
    case, found = limits.CASES[name], {}
    for op in case.ops:
        found[f"{op}/{case.small}"], found[f"{op}/{case.large}"] = others.get(op, (few, many))
    return found


def test_each_case_runs(boot_once):
    """Each case prints a cost for each operation that the page shows."""
    programs = {case.program or name: case for name, case in limits.CASES.items()}
    command = "; ".join(f"limits {program} 8 || exit" for program in programs)
    outcome, text, _ = boot_once("sf3800", run=f"{command}; ls -A /tmp", seed=7, timeout=120)
    assert outcome.status == 0, text
    assert text.splitlines()[-1].startswith("result: "), text  # no file is left
    found = {words["row"]: float(words["cost"]) for words in storage.result_lines(text, "limits")}
    for program, case in programs.items():
        for op in case.ops:
            assert f"{program}.{op}/8" in found, f"{program}.{op}\n{text}"


# Few and many objects, and enough of them that a walk over all would show.
SIZES = {"threads": (100, 1000), "maps": (100, 1000), "same": (100, 1000), "procs": (100, 1000), "segments": (1000, 8000)}
SIZES |= {"locks": (100, 1000), "names": (1000, 8000)}


@pytest.mark.long
def test_costs_do_not_grow(boot_once):
    """No operation costs more than GOAL times as much with many objects."""
    command = "; ".join(f"limits {case} {n} || exit" for case, sizes in SIZES.items() for n in sizes)
    options = {"icount": True, "kernel": "normal", "watchdog": None, "seed": 1, "memory": "1G"}
    outcome, text, _ = boot_once("sf280r", run=command, timeout=200, **options)
    assert outcome.status == 0, text
    found = {words["row"]: float(words["cost"]) for words in storage.result_lines(text, "limits")}
    over = {}
    for case, (few, many) in SIZES.items():
        for op in limits.CASES[case].ops:
            small, large = found[f"{case}.{op}/{few}"], found[f"{case}.{op}/{many}"]
            if large > limits.GOAL * small:
                over[f"{case}.{op}"] = (small, large)
    assert not over, f"few, many: {over}"


def test_all_goals_hold():
    results = {name: costs(name, 1000, 1900) for name in limits.CASES}
    assert limits.faults(results) == []
    text = limits.page(results, "0123456")
    assert "| create one more, and join it | 1,000 | 1,900 | 1.90 | holds |" in text
    assert "does not hold" not in text and text.endswith("- All goals hold.\n")
    assert all(f"| `{name}` | {case.small:,} {case.unit} |" in text for name, case in limits.CASES.items())


def test_a_goal_that_does_not_hold_is_named():
    results = {"locks": costs("locks", 100, 200, lock=(100, 201), test=(100, 5000)), "cpus": costs("cpus", 0, 1)}
    assert limits.faults(results) == [
        "Does not hold: `locks`, `F_GETLK` of another process: 50.0 times as much.",
        "Does not hold: `locks`, unlock a range, and lock it again: 2.0 times as much.",
    ]
    assert limits.page(results, "0123456").count("| does not hold |") == 2


def test_a_missing_figure_is_an_error(monkeypatch, tmp_path):
    text = "result: bench=limits row=locks.start/100 cost=5.0\n"
    monkeypatch.setattr(limits, "boot", lambda *_: text)
    with pytest.raises(MachineError, match="no figure for start/10000, lock/100, "):
        limits.measure("locks", tmp_path)


def test_a_failed_run_gives_no_page(monkeypatch, tmp_path, capsys):
    def fail(*_):
        raise MachineError("'limits threads 100': status 2: limits: fork: Out of memory")

    monkeypatch.setattr(limits, "PAGE", tmp_path / "limits.md")
    monkeypatch.setattr(limits, "boot", fail)
    monkeypatch.setattr("sys.argv", ["limits"])
    assert limits.main() == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("limits: 'limits threads 100': status 2")
    assert not (tmp_path / "limits.md").exists()
