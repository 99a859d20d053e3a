# SPDX-License-Identifier: MIT
"""test_live_record.py - recordings of the live page (RECORD=, `make replay`): what they show, and damaged ones."""

import base64
import itertools
import json
import os
import re
import signal
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import conftest
import harness
from homeroom import fireplane
from homeroom.live import layout, memory, record
from homeroom.live import server as live_server
from homeroom.live.state import Watcher
from livepage import LINKS, Live, check_same_as_live, play_back, replayed, written

pytestmark = [pytest.mark.xdist_group("live"), pytest.mark.part("model")]


def test_a_failed_test_leaves_a_recording(boot):
    """The last minute of a machine with the model, for the report of a failure."""
    one = boot("sf280r", model="fireplane")
    one.check("memcopy -i 10")
    Live.wait_for(lambda: len(harness.recent[one.guest].frames) > 2)
    path = Path(conftest.left_recording(one.guest, "test_live.html"))
    layout, frames, whole, _ = record.read(path)
    path.unlink()
    assert whole and layout["name"] == "sf280r" and len(frames) > 2 and "b" in frames[-1]
    assert conftest.left_recording(boot("sf280r").guest, "test_live.html") == ""


DRAWN = '<script type="application/json" id="layout">{"version": 2, "title": "x", "boards": [{"cpus": [0], "mib": 1}]}</script>'
NONE_SHOWN = "rec.html: the recording is damaged: no frame can be shown"


def piece(frames: str, number: int) -> str:
    """A recording with one piece, which says that it has `number` frames."""
    data = base64.b64encode(zlib.compress(f'{{"past":{{"frame":null}},"frames":{frames}}}'.encode())).decode()
    end = f'<script type="x-end" data-n="{number}"></script>'
    return f'{DRAWN}<script type="x-frames" data-at="0" data-n="{number}" data-marks="">{data}</script>{end}'


@pytest.mark.parametrize(
    "text, words",
    [
        ("<html></html>", "rec.html: not a recording"),
        (DRAWN.replace("2", "99", 1), "rec.html: a recording of version 99; this program reads 2"),
        (DRAWN.replace("2", '"\\u001b[31m\\n2"', 1), "rec.html: a recording of version ?[31m?2; this program reads 2"),
        ("\x00\xff", "rec.html: not a recording"),
        ('<script type="application/json" id="layout">[]</script>', NONE_SHOWN),
        ('<script type="application/json" id="layout">{"version": 2, "title": "x"}</script>', NONE_SHOWN),
        ('<script type="application/json" id="layout">' + "[" * 100_000 + "</script>", NONE_SHOWN),
        (DRAWN, "rec.html: the recording was cut short before its first frame"),
        (
            DRAWN + '<script type="x-frames" data-at="0" data-n="9" data-marks="">AAAA</script>',
            "the recording was cut short before its first frame",
        ),
        (piece("[1,2]", 2), NONE_SHOWN),
        (piece('"xx"', 2), NONE_SHOWN),
        (piece("[" * 100_000, 2), NONE_SHOWN),
        (piece('[{"w":1}]', 1), NONE_SHOWN),
        (piece('[{"w":"x","t":1,"c":[],"n":[],"e":[],"h":{}}]', 1), NONE_SHOWN),
        (piece('[{"w":1,"t":1,"c":[],"n":[],"e":[],"h":{}}]', 900), NONE_SHOWN),
    ],
    ids=itertools.count(),
)
def test_what_is_no_recording(tmp_path, text, words):
    """`make replay` says in one line what a file is not."""
    (tmp_path / "rec.html").write_bytes(text.encode("latin-1"))
    done = replayed(tmp_path / "rec.html")
    assert done.returncode == 1 and done.stderr.strip().endswith(words) and done.stderr.count("\n") == 1, done.stderr


def test_replay_of_no_file(tmp_path):
    """A device and a folder are not read."""
    for path, words in ((Path("/dev/zero"), "not a regular file"), (tmp_path, "not a reg"), (tmp_path / "no", "No such file")):
        done = replayed(path)
        assert done.returncode == 1 and done.stderr.startswith(f"replay: {path}: {words}") and done.stderr.count("\n") == 1


def counted(watcher: Watcher, armed: int, clocks: tuple[int, int], moved: tuple[int, int]) -> dict:
    """What a frame has of a page of the model with two boards: `moved` bytes from the first to the second, and back.

    The CPU of each board has run since its clock was 0.
    """
    data = bytearray(fireplane.SHARED_BYTES)
    head = fireplane.Header.from_buffer(data)
    head.magic, head.version, head.ncpus, head.nboards, head.armed = fireplane.MAGIC, fireplane.VERSION, 2, 2, armed
    head.clock_ps = 1000
    for cpu, time_ps in enumerate(clocks):
        at = fireplane.Cpu.from_buffer(data, fireplane.CPU_OFFSET + cpu * fireplane.CPU_STRIDE)
        at.board, at.counts.time_ps, at.counts.instr = cpu, time_ps, time_ps // 2000
        at.counts.stall_ps, at.counts.fp_stall_ps = time_ps // 8 * 3, time_ps // 8
    for board, number in enumerate(moved):
        place = fireplane.TRAFFIC_OFFSET + board * fireplane.TRAFFIC_STRIDE + (1 - board) * 8
        data[place : place + 8] = number.to_bytes(8, "little")
    Path(watcher._page).write_bytes(data)
    watcher._model = None
    return watcher._boards()


def test_a_recording_shows_what_the_page_showed(browser, tmp_path):
    """Also at the first frames of a piece, when the last value, share or event is several pieces older."""
    frames: list[dict] = []
    for n in range(350):
        time_ps = 10**9 * (n if n < 80 else 80 if n < 130 else n - 50 if n < 205 else 155)  # twice none passes
        one: dict = {"b": [[1, n, n, n, 3000 * min(n, 200), 0]] * 2, "k": time_ps, "m": 7 * n, "a": int(n != 150)}
        if n in (4, 220):
            one["i"] = [{"clock": n}, {"disk": n, "poke wakeup": 1}]
        if n in (2, 199):
            one["p"] = [500 + n, 400, 300, 200, 100]
        if (n % 7 == 0 and n < 120) or n in (200, 300):
            one["e"] = [["stolen", f"event {n}.{i}", 1] for i in range(n % 40 + 1)]
        one["d"] = [["disk0", 1, 1, n // 50, 0]]
        one["h"] = {str(tid): [tid, "x", 2 - (tid > 2), tid % 2, (n // 30 + tid) % 2, -1, -1] for tid in range(1, 4)}
        m = n % 100  # when a piece begins, two of four that have moved wait without a dot, and one of these is another since
        for tid in range(9, 13):
            state = int(m >= 90 or (m < 30 and (m < 5 or tid > 10)))
            one["h"][str(tid)] = [tid + (tid == 12) * ((n + 3) // 100), "y", state, 0, int(50 <= m < 90), -1, -1]
        one["w"] = n / 4
        frames.append(one)
    file = written(tmp_path / "rec.html", frames)
    play_back(browser, file)
    check_same_as_live(browser, record.read(file).frames)
    source = "[...$('details').querySelectorAll('dt')].find((d) => d.textContent === 'by source').nextSibling.textContent"
    for at, words in ((3, "not known yet"), (4, "disk 4, poke wakeup 1")):
        browser.value(f"seek({at})")
        assert browser.value(source) == words


def test_play_again_at_once(browser, tmp_path):
    """Of several starts of `play` only the last one goes on."""
    play_back(browser, written(tmp_path / "rec.html", [{}] * 9))
    timers = "globalThis.timers = []; globalThis.setTimeout = (call) => timers.push(call)"
    turn = "(async () => { timers.splice(0).forEach((call) => call()); for (let i = 0; i < 99; i++) await 0; })()"
    browser.value(f"{timers}; play(); play(); play(); {turn}")
    for at in range(3, 7):
        browser.value(turn)
        assert browser.value("[tape.at, timers.length]") == [at, 1]


def test_a_later_seek_wins(browser, tmp_path):
    """The slider may be moved again while a piece is read."""
    play_back(browser, written(tmp_path / "rec.html", [{}] * 350))
    slow = "if (p.at) await new Promise((r) => setTimeout(r, 300)); return old(p);"
    slow = f"const old = openPiece; openPiece = async (p) => {{ {slow} }}"
    browser.value(f"{slow}; tape.frames.delete(100); Promise.all([seek(150), seek(7)])")
    assert browser.value("[tape.at, $('slider').value, $('second').textContent]") == [7, "7", "7.0 s"]


def test_few_pieces_are_kept(browser, tmp_path):
    """An hour has 360; those that were used last are kept."""
    play_back(browser, written(tmp_path / "rec.html", [{}] * 1250))
    browser.value("(async () => { for (let n = 0; n < tape.count; n += 50) await seek(n); })()")
    kept = browser.value("[...tape.frames.keys()]")
    assert 1 < len(kept) < 10 and kept[-1] == 1200 and not browser.errors


def test_play(browser, tmp_path):
    """It ends with the last frame, and begins again with the first."""
    play_back(browser, written(tmp_path / "rec.html", [{"w": i / 10} for i in range(5)]))
    assert browser.value("seek(2)")
    assert browser.value("$('play').click(), $('play').textContent") == "pause"
    browser.until("$('play').textContent === 'play'")
    state = "[tape.at, $('slider').value, $('second').textContent, view.shown]"
    ended = browser.value(state)
    assert ended[:3] == [4, "4", "0.4 s"]
    time.sleep(0.3)
    assert browser.value(state) == ended
    # From here on pauses end when the test says so: else it could come too late for the second frame.
    browser.value("globalThis.pauses = []; globalThis.setTimeout = (call) => pauses.push(call); play(); 0")
    browser.until("tape.shown === 0 && pauses.length")
    browser.value("pauses.pop()(); 0")
    browser.until("tape.shown === 1 && pauses.length")
    assert browser.value("$('play').click(), $('play').textContent") == "play"
    browser.value("pauses.pop()(); 0")
    assert browser.value("[tape.shown, pauses.length, $('play').textContent]") == [1, 0, "play"]


def test_play_at_the_times_of_frames(browser, tmp_path):
    """A pause is as long as between two frames, but 2 s at most; before a frame that is lacking there is none."""
    times = [0, 0.1, 0.6, 1.6, 61.6, 62] + [70] * 94 + [71] * 100 + [72, 72.5]
    file = written(tmp_path / "rec.html", [{"w": w} for w in times])
    text = file.read_text()
    second = list(record.PIECES.finditer(text))[1]
    file.write_text(text[: second.start()] + text[second.end() :])
    play_back(browser, file)
    pauses = "globalThis.pauses = []; const wait = setTimeout; performance.now = () => 0"
    pauses += "; globalThis.setTimeout = (call, ms) => { pauses.push(Math.round(ms)); wait(call); }"
    browser.value(f"{pauses}; play(); 0")
    browser.until("$('play').textContent === 'play'")
    assert browser.value("pauses") == [500, 1000, 2000, 400, 2000, 500] and browser.value("tape.at") == 201


def test_the_share_of_a_link(browser, tmp_path):
    """300 kB out and 200 kB in within a modelled millisecond are 50 % of a link with 1,000 MB/s.

    While no modelled time passes the words stay; before the first share, and if the model does not count, there is none.
    A CPU whose clock is behind counts with the time that it has run, not with the time by which it passes the other clock.
    """
    watcher, ms = Watcher.__new__(Watcher), 10**9
    watcher._page, watcher.process = str(tmp_path / "page"), SimpleNamespace(name="x")
    watcher._clocks, watcher._link_ps = None, 0
    boards = [
        counted(watcher, 1, (ms, 0), (5000, 7000)),
        counted(watcher, 1, (2 * ms, 0), (305_000, 207_000)),
        counted(watcher, 1, (2 * ms, 0), (305_000, 207_000)),
        counted(watcher, 1, (4 * ms, 0), (305_000, 407_000)),
        counted(watcher, 1, (4 * ms, ms), (505_000, 407_000)),
        counted(watcher, 1, (4 * ms, 4 * ms + ms // 8), (1_442_500, 407_000)),
        counted(watcher, 0, (4 * ms, 4 * ms + ms // 8), (1_442_500, 407_000)),
        {},
    ]
    assert boards[1] == {"b": [[0, n, 0, 0, *b] for n, b in ((10**6, (305_000, 207_000)), (0, (207_000, 305_000)))]} | {
        "m": 2 * ms,
        "k": ms,
        "a": 1,
    }
    play_back(browser, written(tmp_path / "rec.html", boards))
    link = "[view.links[1].text.textContent, Number(view.links[1].gauge.getAttribute('width')) / view.links[1].wide]"
    for at, words, share in (
        (0, "link -", 0),
        (1, "link 50 %", 0.5),
        (2, "link 50 %", 0.5),
        (3, "link 10 %", 0.1),
        (4, "link 20 %", 0.2),
        (5, "link 30 %", 0.3),
        (6, "link -", 0),
        (7, "", 0),
    ):
        browser.value(f"seek({at})")
        shown = browser.value(link)
        assert shown[0] == words and shown[1] == pytest.approx(share, abs=0.01), at
    assert not browser.errors


@pytest.mark.parametrize("marks", ["x 1 1t t1 2x -1s 9t 1.5f 2f NaNt", "\u0663t 1t 2f 99999999999999999999t"])
def test_marks_of_a_damaged_recording(browser, tmp_path, marks):
    """What is no number of a frame, and no letter of a kind, is no mark."""
    file = written(tmp_path / "rec.html", [{}] * 3)
    file.write_text(file.read_text().replace('data-marks=""', f'data-marks="{marks}"'))
    play_back(browser, file)
    assert browser.value("tape.marks") == [[1, "t"], [2, "f"]]
    browser.value("seekNextMark()")
    browser.until("tape.at === 1")
    assert browser.value("[$('slider').max, $('slider').value]") == ["2", "1"] and not browser.errors


@pytest.mark.parametrize(
    "old, new, words",
    [
        ('data-n="3" data', 'data-n="4" data', "the recording is damaged: no frame can be shown"),
        ('data-n="3" data', 'data-n="x" data', "the recording is damaged: no frame can be shown"),
        ('"link_mbps"', "link_mbps", "the recording is damaged: no frame can be shown"),
        ('<script type="x-', "<!--", "this recording was cut short before its first frame"),
    ],
)
def test_nothing_to_show_in_a_browser(browser, tmp_path, old, new, words):
    """One line instead of an error of the script, and the same from `make replay`."""
    file = written(tmp_path / "rec.html", [{}] * 3)
    file.write_text(file.read_text().replace(old, new))
    browser.open(file.as_uri())
    browser.until(f"document.readyState === 'complete' && $('status').textContent === '{words}'")
    assert not browser.errors
    done = replayed(file)
    assert done.returncode == 1 and words.removeprefix("this ") in done.stderr and done.stderr.count("\n") == 1


def changed(match: re.Match, change: Callable[[dict], None]) -> str:
    """A piece of a recording whose contents are changed."""
    found = json.loads(zlib.decompress(base64.b64decode(match[3])))
    change(found)
    return match[0].replace(match[3], base64.b64encode(zlib.compress(json.dumps(found).encode())).decode())


def late(found: dict) -> None:
    found["frames"][50]["w"] = 1


DAMAGE = {  # how the second of three pieces is changed, and which frames are lacking then
    "a byte": (lambda m: m[0].replace(m[3][40:50], "!" * 10), [(100, 200)]),
    "bits": (lambda m: m[0].replace(m[3][40:50], "A" * 10), [(100, 200)]),
    "not UTF-8": (lambda m: m[0].replace(m[3][40:50], "\udcff"), [(100, 200)]),
    "an element": (lambda m: m[0].replace(m[3][40:50], "<b></b>"), [(100, 200)]),
    "missing": (lambda m: "", [(100, 200)]),
    "first": (lambda m: m[0].replace('data-at="100"', 'data-at="50"'), [(100, 200)]),
    "count": (lambda m: m[0].replace('data-n="100"', 'data-n="99"'), [(100, 200)]),
    "times": (lambda m: changed(m, late), [(100, 200)]),
    "no number": (lambda m: changed(m, lambda found: found["frames"][50].update(t=float("nan"))), [(100, 200)]),
    "true": (lambda m: changed(m, lambda found: found["frames"][50].update(t=True)), [(100, 200)]),
    "false": (lambda m: changed(m, lambda found: found["frames"][50].update(t=False)), [(100, 200)]),
    "no frames": (lambda m: changed(m, lambda found: found.update(frames={})), [(100, 200)]),
    "a newline": (lambda m: m[0].replace(m[3], f"{m[3][:40]}\n{m[3][40:]}"), []),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_recording(browser, tmp_path, kind):
    """`make replay` and the page say which frames are missing or damaged, and show the others."""
    change, lacks = DAMAGE[kind]
    file = written(tmp_path / "rec.html", [{}] * 250, title="\x1b[31mX\nreplay: y")
    text = file.read_text()
    pieces = list(record.PIECES.finditer(text))
    assert len(pieces) == 3
    damaged = text[: pieces[1].start()] + change(pieces[1]) + text[pieces[1].end() :]
    assert damaged != text
    file.write_text(damaged, errors="surrogateescape")
    assert record.read(file)[2:] == (True, lacks)
    done = replayed(file)
    count = 150 if lacks else 250
    assert done.returncode == 0 and done.stdout.startswith(f"replay: ?[31mX?replay: y, {count} frames, 249 s: file:")
    warning = "replay: warning: frames are missing or damaged: 100 to 199; the page shows the others\n"
    assert done.stdout.count("\n") == 1 and done.stderr == (warning if lacks else "")
    play_back(browser, file)
    browser.until("tape.inspected")
    words = "a recording; frames are missing or damaged: 100 to 199" if lacks else "a recording"
    assert browser.value("$('status').textContent") == words
    state = "[tape.at, $('slider').value, $('second').textContent, document.body.className.includes('lacking')]"
    for at in (150, 99, 100, 200, 249):
        browser.value(f"seek({at})")
        lacking = bool(lacks) and 100 <= at < 200
        assert browser.value(state) == [at, str(at), "no frame" if lacking else f"{at}.0 s", lacking]
    browser.value("seek(98)")
    browser.value("const wait = setTimeout; globalThis.setTimeout = (call, ms) => wait(call, ms / 10); 0")
    browser.value("globalThis.seen = []; const old = next; next = (f) => { seen.push(f.w); old(f); }; play(); 0")
    browser.until("seen.length > 4")
    assert browser.value("$('play').click(), seen.slice(0, 4)") == ([99, 200, 201, 202] if lacks else [99, 100, 101, 102])
    assert not browser.errors


def test_a_long_recording_needs_little_memory(monkeypatch, capsys, tmp_path):
    """`make replay` does not keep the frames that it has checked: an hour of a large machine has more than 1 GiB of them."""
    file = written(tmp_path / "rec.html", [{"h": {str(tid): [tid, "x", 2, 0, 0, -1, -1] for tid in range(30)}}] * 1000)
    monkeypatch.setattr(sys, "argv", ["replay", str(file)])
    monkeypatch.setattr(record.webbrowser, "open", lambda _: True)
    peaks = []
    tracemalloc.start()
    for call in (lambda: record.read(file), record.main):
        tracemalloc.reset_peak()
        call()
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert "1000 frames, 999 s" in capsys.readouterr().out and peaks[1] < peaks[0] / 2


def test_the_end_of_a_recording_is_missing(browser, tmp_path):
    """The end of the file has the number of its frames; without it the recording is cut short."""
    file = written(tmp_path / "rec.html", [{}] * 250)
    text = file.read_text()
    last = list(record.PIECES.finditer(text))[-1]
    for damaged, whole, words in (
        (text[: last.start()] + text[last.end() :], True, "a recording; frames are missing or damaged: 200 to 249"),
        (text[: last.start() + 200], False, "a recording, cut short"),
        (text[: last.start()], False, "a recording, cut short"),
    ):
        file.write_text(damaged)
        assert record.read(file)[2:] == (whole, [(200, 250)] if whole else [])
        assert (", 200 frames, 199 s: " if whole else ", 200 frames, 199 s, cut short: ") in replayed(file).stdout
        play_back(browser, file)
        assert browser.value("[$('status').textContent, tape.count]") == [words, 250 if whole else 200]


def test_where_a_recording_is_cut(browser, tmp_path):
    """`make replay` and the page agree on its frames wherever it is cut, also in the end of an element."""
    file = written(tmp_path / "rec.html", [{}] * 250)
    text = file.read_text()
    (_, first), (start, last) = [piece.span() for piece in record.PIECES.finditer(text)][:2]
    mark = text.index(">", text.index('<script type="x-end"'))
    cuts = {first - 9: 100, first - 8: 100, first - 1: 100, first + 9: 100, start + 70: 100, last - 60: 100, last - 10: 100}
    cuts |= {last - 9: 200, last - 7: 200, last - 1: 200, last: 200, mark: 250, mark + 1: 250, mark + 4: 250}
    for cut, count in cuts.items():
        file.write_text(text[:cut])
        assert record.read(file)[2:] == (cut > mark, []) and len(record.read(file).frames) == count, cut
        browser.open(file.as_uri())
        browser.until("typeof tape !== 'undefined' && tape.inspected")
        assert browser.value("[tape.count, tape.whole, tape.lacks.length]") == [count, cut > mark, 0], cut
        assert not browser.errors


def test_a_recording_that_is_cut_in_its_scripts(browser, tmp_path):
    """The page says so."""
    file = written(tmp_path / "rec.html", [{}])
    text = file.read_text()
    starts = [found.start() for found in re.finditer("<script>", text)]
    for cut in (*starts, starts[0] + 99, starts[-1] + 99):
        file.write_text(text[:cut])
        browser.open(file.as_uri())
        words = browser.until(
            "document.readyState === 'complete' && $('status').textContent".replace("$", "document.getElementById")
        )
        assert words == "this page was cut short: its scripts are not complete", cut


def test_where_a_recording_cannot_be(tmp_path):
    """A folder, a FIFO, a device and a loop of links are refused in one line; all other files stay as they are."""
    names = [tmp_path / name for name in ("dir", "fifo", "loop", "link", "file")]
    folder, fifo, loop, link, file = names
    folder.mkdir()
    os.mkfifo(fifo)
    loop.symlink_to(loop)
    link.symlink_to("target")
    file.write_text("old")
    for path, words in (
        (folder, "Is a directory"),
        (fifo, "not a regular file"),
        (Path("/dev/null"), "not a regular file"),
        (loop, "Too many"),
    ):
        with pytest.raises(memory.LiveError, match=f"^{path}: {words}"):
            record.check(path)
    for path in (link, file):
        record.check(path)
    assert sorted(tmp_path.iterdir()) == sorted(names) and link.is_symlink() and file.read_text() == "old"
    written(link, [{}])
    assert link.is_symlink() and record.read(tmp_path / "target")[2]


def test_two_recordings_into_one_file(tmp_path):
    """The second one is refused, also through a link, until the first one has ended; it changes nothing."""
    file, link = tmp_path / "rec.html", tmp_path / "link"
    link.symlink_to(file)
    first = record.Recorder(file, LINKS)
    text = file.read_text()
    assert text.rstrip().endswith("</script>")  # all of the page, before its frames
    words = "another program writes a recording into it"
    with pytest.raises(memory.LiveError, match=f"^{link}: {words}"):
        record.check(link)
    with pytest.raises(OSError, match=words):
        written(link, [{}])
    assert file.read_text() == text and sorted(tmp_path.iterdir()) == [link, file]
    first.close()
    written(link, [{}])
    assert len(record.read(file).frames) == 1


@pytest.mark.parametrize("name", ["TRACE", "MODEL_PAGE"])
def test_a_recording_and_another_file_at_once(monkeypatch, capsys, tmp_path, name):
    """The machine that is started does not write into the recording: one line, and nothing starts."""
    (tmp_path / "link").symlink_to("rec.html")
    argv = ["live", "--machine", "sf280r", "--iso", "x", "--port", "0", "--record", str(tmp_path / "rec.html")]
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setenv(name, str(tmp_path / "link"))
    assert live_server.main() == 1
    words = f"live: {tmp_path}/rec.html is RECORD and {name} at once: name another file for one of them\n"
    assert capsys.readouterr() == ("", words) and not (tmp_path / "rec.html").exists()


def test_a_machine_that_cannot_be_shown(monkeypatch, capsys, tmp_path):
    """It leaves the file of an earlier recording as it was."""

    def no_frames(*_):
        raise memory.Hopeless("it cannot be read")
        yield

    monkeypatch.setattr(live_server, "frames_of", no_frames)
    monkeypatch.setattr(layout, "of", lambda _: LINKS)
    file = tmp_path / "rec.html"
    file.write_text("old")
    assert not live_server.show(SimpleNamespace(runs=lambda: True), live_server.listen("0"), file)
    assert file.read_text() == "old"
    assert capsys.readouterr().err == f"live: nothing was recorded, and {file} is as it was\nlive: it cannot be read\n"
