# SPDX-License-Identifier: MIT
"""test_fireplane_plugin.py - the interconnect model's parameters and plugin: errors in one line; old and new QEMU.

tests/host/test_fireplane.c tests the model itself, tests/test_fireplane_guest.py what the guest sees of it.
"""

import contextlib
import os
import re
import struct
import subprocess
import tomllib

import pytest

from harness import HOST_LIMIT
from homeroom import guest, machine, model
from homeroom.machine import TOP, MachineError

LAUNCH = TOP / "qemu/launch.py"


def launch(*args, **variables):
    env = {**os.environ, **variables}
    command = [LAUNCH, *args, "--iso", str(LAUNCH)]
    return subprocess.run(command, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, timeout=HOST_LIMIT)


# ---- parameters ----


@pytest.mark.parametrize("name", machine.names())
def test_every_machine_has_parameters(name):
    text = model.parameters(machine.load(name))
    assert [line.split(" = ")[0] for line in text.splitlines()] == ["cpus", "memory_mib", *model.LIMITS]


def test_families():
    """Families differ only in the parameters in which they differ in the white paper."""
    texts = {n: model.parameters(machine.load(n)).splitlines()[2:] for n in machine.names()}
    assert texts["sf3800"] == texts["sf6800"] and texts["sf12k"] == texts["sf15k"] == texts["sf15k-76"] == texts["sf15k-maxcpu"]
    differ = {line.split(" = ")[0] for line in set(texts["sf6800"]) ^ set(texts["sf15k"])}
    assert differ == {"bus", "remote_ps", "remote_miss_ps"}


def test_cpus_of_maxcpu_boards():
    line = model.parameters(machine.load("sf15k-maxcpu", boards=2)).splitlines()[0]
    assert line == "cpus = 0:4 1:4 0:2m 1:2m"


def test_limits_are_those_of_the_plugin():
    """tools/homeroom/model.py and qemu/fireplane/params.c have the same limits."""
    flights = re.search(r"#define FP_MAX_FLIGHTS +(\d+)", (TOP / "qemu/fireplane/params.h").read_text())[1]
    text = (TOP / "qemu/fireplane/params.c").read_text().replace("FP_MAX_FLIGHTS", flights)
    numbers = {m[1]: (int(m[2]), eval(m[3])) for m in re.finditer(r"NUMBER\((\w+), (\d+), ([\d <]+)\)", text)}
    words = {m[1]: m[2] for m in re.finditer(r'SWITCH\("(\w+)", \w+, (\w+)\)', text)}
    assert numbers.pop("memory_mib")
    for name, array in words.items():
        values = re.search(rf'{array}\[\] = \{{"([\w-]+)", "([\w-]+)", NULL\}}', text)
        numbers[name] = (values[1], values[2])
    assert numbers == model.LIMITS


def test_floating_point_latency():
    """One clock on every machine; the hypothesis has the latencies of GCC's config/sparc/ultra3.md for UltraSPARC III."""
    operands = tomllib.loads((TOP / "tools/experiments/paper.toml").read_text())["hypothesis"]["operands"]["set"]
    for name in machine.names():
        for settings, latencies in ((None, [1] * 6), (operands, [4, 3, 20, 29, 17, 20])):
            text = model.parameters(machine.load(name), settings)
            values = dict(line.split(" = ") for line in text.splitlines())
            kinds = ("", "move_", "div_", "sqrt_", "divs_", "sqrts_")
            assert [int(values[f"fp_{kind}latency"]) for kind in kinds] == latencies


@pytest.mark.parametrize(
    "args, says",
    [
        (["sf3800", "--model", "ring"], "MODEL=ring: the only model is fireplane"),
        (["sf3800", "--model-set", "ecache_kib=256"], "need MODEL=fireplane"),
        (["sf3800", "--model", "fireplane", "--model-set", "ecache=1"], "no parameter 'ecache'; there are: clock_ps"),
        (["sf3800", "--model", "fireplane", "--model-set", "ecache_kib"], "write 'ecache_kib' as name=value"),
        (["sf3800", "--model", "fireplane", "--model-set", "ecache_kib=0"], "a number from 1 to 1048576"),
        (["sf3800", "--model", "fireplane", "--model-set", "ecache_kib=-4"], "a number from 1 to 1048576"),
        (["sf3800", "--model", "fireplane", "--model-set", "ecache_kib=100"], "must be a power of two"),
        (["sf3800", "--model", "fireplane", "--model-set", "bus=ring"], 'it is "machine" or "board"'),
        (["sf3800", "--model", "fireplane", "--model-set", "own_ps=200000"], "own_ps = 200000 is more than pair_ps"),
        (["sf3800", "--model", "fireplane", "--model-set", "remote_miss_ps=300000"], "there is no directory"),
        (["sf3800", "--model", "fireplane", "--model-set", "port_mbps=10000000"], "port_mbps and bucket_ps"),
        (["sparse", "--model", "fireplane"], "no [fireplane] table"),
    ],
)
def test_wrong_options_are_one_line(args, says):
    done = launch(*args)
    assert done.returncode == guest.STATUS_SETUP
    assert len(done.stderr.splitlines()) == 1 and says in done.stderr, done.stderr


@pytest.mark.parametrize(
    "table, says",
    [
        ("", "family = None; there are: small, mid-range, high-end"),
        ('family = "common"', "family = 'common'; there are"),
        ('family = "small"\nspeed = 3', "odd.toml: no parameter 'speed'"),
        ('family = "small"\nstreams = "8"', "streams = '8': a number from 1 to 16"),
        ('family = "small"\nstreams = true', "streams = True: a number"),
        ('family = "small"\nclock_ps = 1.5', "clock_ps = 1.5: a number"),
    ],
)
def test_wrong_machine_files(table, says, tmp_path):
    path = tmp_path / "odd.toml"
    path.write_text(f'title = "x"\n[[board]]\ncpus = 2\nmemory = "64M"\n[fireplane]\n{table}')
    with pytest.raises(MachineError) as error:
        model.parameters(machine.load(str(path)))
    assert says in str(error.value)


def test_the_command_line(tmp_path):
    page = tmp_path / "a,page"
    done = launch("sf3800", "--make", "--print", MODEL="fireplane", MODEL_SET="ecache_kib=256", MODEL_PAGE=str(page))
    assert done.returncode == 0, done.stderr
    assert "-plugin" in done.stdout and "-device ivshmem-plain,memdev=fireplane" in done.stdout
    assert "-plugin" not in launch("sf3800", "--print").stdout


def test_a_missing_plugin_and_a_qemu_without(monkeypatch, tmp_path):
    monkeypatch.setattr(model, "PLUGIN", TOP / "build/no-plugin.so")
    with pytest.raises(MachineError, match=r"build/no-plugin.so is missing: make fireplane"):
        model.check_built(guest.QEMU)
    monkeypatch.undo()
    plain = tmp_path / "qemu"
    plain.write_text("#!/bin/sh\necho '-machine -cpu'\n")
    plain.chmod(0o755)
    with pytest.raises(MachineError, match="was built without plugins"):
        model.check_built(str(plain))


def test_pages_do_not_meet_and_go_away(tmp_path, monkeypatch):
    monkeypatch.setattr(model, "PAGES", tmp_path)
    one, two = (model.new_page(machine.load("sf3800"), None, []) for _ in range(2))
    assert one.name == f"sf3800.{os.getpid()}.page" and two != one
    assert one.stat().st_size == model.PAGE_BYTES
    with pytest.raises(MachineError, match="MODEL_PAGE"):
        model.new_page(machine.load("sf3800"), tmp_path / "no/such/folder", [])


# ---- the plugin ----


@pytest.fixture(scope="module")
def fake_qemu(tmp_path_factory):
    """fake(*defines) -> a program that exports the functions of a QEMU, old or new."""
    folder = tmp_path_factory.mktemp("fakeqemu")

    def build(*defines):
        program = folder / "-".join(["qemu", *defines])
        command = ["gcc", "-std=gnu17", "-rdynamic", "-Wall", "-Werror", "-Iqemu/fireplane", "-Iinclude"]
        command += [*(f"-D{d}" for d in defines), "-o", program, "tests/fakeqemu.c", "-ldl"]
        subprocess.run(command, cwd=TOP, check=True)
        return program

    return build


@pytest.fixture
def files(tmp_path):
    config, page = tmp_path / "config", tmp_path / "page"
    config.write_text(model.parameters(machine.load("sf3800"), "fp_latency=4"))
    page.write_bytes(bytes(model.PAGE_BYTES))
    return config, page


def load_plugin(program, files, *more, cpus="8"):
    config, page = files
    command = [program, model.PLUGIN, cpus, f"config={config}", f"page={page}", *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=HOST_LIMIT)


@pytest.mark.parametrize("defines, version", [((), 1), (("NEW=3",), 3), (("NEW=7",), 7)], ids=["7.2", "9.1", "11.1"])
def test_old_and_new_interface(fake_qemu, files, defines, version):
    """Accesses of user code are counted while armed; those of the kernel, and all while disarmed, are not."""
    done = load_plugin(fake_qemu(*defines), files)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["version", str(version), "resets", "2"]
    time_ps, instr, loads, stores = struct.unpack_from("<4Q", files[1].read_bytes(), 4096)
    # rep stosq makes three rounds; the last two doorbells are instructions, too
    assert (instr, loads, stores) == (3 + 3 + 2 + (1 + 3) + 2 + 2, 2 + 2, 2 + 3)
    assert time_ps == (instr + 3) * 1111  # the second sum waits for the first


def test_heat_is_no_part_of_the_counts(fake_qemu, files):
    assert load_plugin(fake_qemu(), files, "heat=4", "heat_seed=0x7").returncode == 0
    page = files[1].read_bytes()
    assert struct.unpack_from("<4Q", page, 4096)[1:] == (3 + 3 + 2 + (1 + 3) + 2 + 2, 2 + 2, 2 + 3)
    assert struct.unpack_from("<Q", page, 72 + 2048)[0] == 4


def test_a_symbol_missing(fake_qemu, files):
    done = load_plugin(fake_qemu("WITHOUT_EXIT"), files)
    assert done.returncode == 1
    assert done.stderr.startswith("fireplane: this QEMU does not export cpu_exit;")
    assert len(done.stderr.splitlines()) == 1


def test_an_unknown_way_to_count_instructions(fake_qemu, files):
    done = load_plugin(fake_qemu("ICOUNT"), files)
    assert done.returncode == 1
    assert done.stderr.endswith("counts instructions in a way unknown here: leave -icount away\n")
    assert len(done.stderr.splitlines()) == 1


def test_what_the_plugin_refuses(fake_qemu, files, tmp_path):
    config, page = files
    program = fake_qemu()
    small = tmp_path / "small"
    small.write_bytes(b"x")
    wrong = tmp_path / "wrong"
    wrong.write_text(config.read_text().replace("skew_ps = 250000", "skew_ps = 7"))
    for change, says in {
        (config, page, "colour=red"): "unknown argument colour=red",
        (config, page, "heat=many"): "heat=many: a number from 0 to 1000000",
        (config, page, "heat=1000001"): "heat=1000001: a number from 0 to 1000000",
        (config, page, "heat=4", "heat_seed="): "heat_seed=: a number",
        (tmp_path / "none", page): "No such file",
        (config, small): "not a file of 1048576 bytes",
        (wrong, page): "skew_ps = 7: a number from 1000 to 1000000000",
    }.items():
        done = load_plugin(program, change[:2], *change[2:])
        assert done.returncode == 1 and says in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    done = load_plugin(program, files, cpus="4")
    assert "describes 8 CPUs, this machine has 4" in done.stderr


def test_qemu_ends_when_the_plugin_refuses(files, tmp_path):
    """With the real QEMU: one line, and no machine starts."""
    config, page = files
    config.write_text("speed = 3\n")
    command = [guest.QEMU, "-display", "none", "-S", "-plugin", f"{model.PLUGIN},config={config},page={page}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HOST_LIMIT)
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if line.startswith("fireplane: ")]
    assert said == [f"fireplane: {config}: unknown parameter 'speed'"]


# ---- a running guest ----

MODEL = pytest.mark.machine("sf3800", model="fireplane", model_set="ecache_kib=64", seed=7)


def numbers(text):
    """The `result:` and `counters:` lines of a benchmark, as one dictionary."""
    return {k: v for line in re.findall(r"(?:result|counters): (.*)", text) for k, v in re.findall(r"(\S+?)=(\S+)", line)}


@MODEL
def test_counters_add_up(machine):
    """A copy with 8 threads: every line of both arrays misses once in each round, and nothing is counted twice."""
    n = numbers(machine.check("memcopy -t 8 -b -i 3", timeout=120))
    n = {k: int(v) for k, v in n.items() if v.isdigit()}
    lines = 3 * n["bytes"] // 64
    assert n["ec_ref"] == n["ec_hit"] + n["miss_local"] + n["miss_remote"]
    assert n["loads"] + n["stores"] >= n["ec_ref"]
    assert 0.98 * lines <= n["miss_local"] + n["miss_remote"] <= 1.02 * lines
    assert 0.98 * lines <= 2 * n["writeback"] <= 1.02 * lines
    assert n["instr"] >= n["stores"] >= 3 * n["bytes"] // 16
    assert n["miss_remote"] < 0.02 * lines


@MODEL
def test_random_placement_misses_elsewhere(machine):
    n = numbers(machine.check("memcopy -t 8 -b -i 3 -p random", timeout=120))
    remote, local = int(n["miss_remote"]), int(n["miss_local"])
    assert 0.45 < remote / (remote + local) < 0.55


@contextlib.contextmanager
def busy_host():
    """A process that computes while the block runs, in addition to the other workers of the test run."""
    busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()


def test_one_seed_gives_one_result_on_any_host(boot_once):
    """The same run on an idle host and on a busy one gives the same modelled times and counters, and the guest's clock agrees
    with the model's: with a thread on each CPU, with processes that sleep, and with four threads on each CPU."""
    name, run = "sf3800", "memcopy -t 8 -n 512k; oltp -r 2 -x 2 -w 150; fdiff -t 32 -n 192x192 -i 1"
    if not guest.qemu_version().startswith("7.2"):
        pytest.skip("the plugin's clock was tried with QEMU 7.2 only")
    options = {"run": run, "model": "fireplane", "model_set": "ecache_kib=64", "seed": 7, "watchdog": None}
    one, text, _ = boot_once(name, **options)
    with busy_host():
        two, again, _ = boot_once(name, **options)
    assert (one.status, two.status) == (0, 0), text
    figures = [re.findall(r"^(?:result|counters): .*", each, re.M) for each in (text, again)]
    assert len(figures[0]) == 2 * 5 and figures[0] == figures[1]
    n = numbers(text)
    assert float(n["wall_s"]) == pytest.approx(float(n["modelled_s"]), rel=0.02, abs=0.003)  # threads begin one after the other


@MODEL
def test_a_guest_that_rings_nonsense(machine):
    """User code calls the model with all numbers and with arguments of other CPUs: the machine continues to work."""
    assert machine.run("/usr/test/fpnoise", timeout=120).status == 0
    assert machine.check("echo alive") == "alive\n"
    assert numbers(machine.check("memcopy -t 2 -i 1"))["bench"] == "memcopy"


@pytest.mark.long
@MODEL
def test_two_that_measure_at_once(machine):
    """If another program disarms the model during a measurement, its result is not printed."""
    noise = "while kill -0 $p 2> /dev/null; do su nobody -s /bin/sh -c /usr/test/fpnoise; done"
    out = machine.check(
        f"memcopy -t 4 -i 60 > /tmp/long 2>&1 & p=$!; {noise}; wait $p; echo status $?; cat /tmp/long", timeout=120
    )
    assert "status 2" in out and "result:" not in out, out
    assert "fireplane: another program disarmed the model meanwhile, so what was counted is not whole" in out
    assert "memcopy: nothing was measured" in out


def test_a_thread_for_each_cpu_is_refused(boot_once, monkeypatch):
    monkeypatch.setattr(guest.Guest, "_host_threads", lambda one: one.machine.cpus)
    outcome, _, _ = boot_once("sf3800", run="/usr/test/fpnoise", model="fireplane")
    assert outcome.kind == "qemu"
    assert outcome.detail == "fireplane: CPUs run in several host threads: start QEMU with -accel tcg,thread=single"


@pytest.mark.long
def test_what_the_model_costs_is_measured():
    """A short run of make model-speed prints a complete table.  The figures depend on the host and are not checked."""
    command = [TOP / "tools/model_speed.py", "sf280r", "--repeat", "1", "--scale", "0.03"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HOST_LIMIT)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if re.search(r" x \d+\.\d", line)]
    assert len(rows) == 7 and rows[0].startswith("boot ") and rows[1].startswith("boot, both counting"), done.stdout
    wrong = subprocess.run([command[0], "sf99"], capture_output=True, text=True, timeout=HOST_LIMIT)
    assert wrong.returncode == 1 and wrong.stderr.startswith("model_speed: no machine 'sf99'")
