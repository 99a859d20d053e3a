# SPDX-License-Identifier: MIT
"""test_tty.py - the console as a user sees it: line editing, signals, job control, full-screen programs, su."""

import hashlib
import re

import pytest

pytestmark = [pytest.mark.core, pytest.mark.machine("sf280r")]

END = r"(\x1b\[6n)?$"  # after a prompt the shell asks the terminal for the position of the cursor
LOGIN = r"homeroom:\S*[#$] " + END
PROMPT = r"tty# " + END


@pytest.fixture
def console(machine):
    """The console, at the prompt of a new login shell."""
    machine.type("\n")
    machine.expect(LOGIN)
    machine.type("PS1='tty# '; stty sane\n")
    machine.expect("^" + PROMPT)
    yield machine
    machine.type("\x11\x03\x03exit\n")


def command(console, line, timeout=30):
    """Type a line, wait for the next prompt, and return the output between."""
    start = len(console.guest.console)
    console.type(line + "\n")
    console.expect("^" + PROMPT, timeout)
    text = console.guest.console[start:].decode(errors="replace").replace("\r", "")
    return text.split("\n", 1)[1].rsplit("tty# ", 1)[0]


def wait_foreground(console, name):
    """Wait until the program `name` is in the terminal's foreground group, so that it gets the signals of keys."""
    stat = f"set -- $(cat /proc/$(pidof {name})/stat)"
    console.check(f"until {stat}; [ $5 = $8 ]; do usleep 20000; done")


def start(console, line, name):
    """Type a command that does not end, and wait until the program `name` runs in the foreground."""
    console.type(line + "\n")
    console.check(f"until pidof {name} > /dev/null; do usleep 20000; done; usleep 100000")
    wait_foreground(console, name)
    console.expect(re.escape(line) + "\n")


def start_in_background(console, line):
    """Type a command that the terminal stops, and wait until it has been stopped."""
    command(console, f"{line} & echo $! > /tmp/job")
    console.check("until grep -q '^State:.T' /proc/$(cat /tmp/job)/status; do usleep 20000; done")


def test_settings(console):
    assert command(console, "stty size") == "24 80\n"
    assert command(console, "tty") == "/dev/console\n"
    shown = command(console, "stty -a")
    assert "intr = ^C" in shown and " icanon" in shown and "-raw" not in shown
    command(console, "stty rows 50 cols 132")
    assert command(console, "stty size") == "50 132\n"


def test_cat_sees_edited_lines_and_end_of_file(console):
    start(console, "cat > /tmp/typed", "cat")
    console.type("onX\x7fe\njunk\x15two words\x17things\n\x04")
    console.expect("^" + PROMPT)
    assert command(console, "cat /tmp/typed") == "one\ntwo things\n"


def test_interrupt(console):
    start(console, "sleep 1000", "sleep")
    console.type("\x03")
    console.expect(r"\^C\n" + PROMPT)
    assert command(console, "echo $?") == "130\n"


def test_interrupt_of_a_flood(console):
    console.type("yes\n")
    console.expect(r"y\ny\ny\n")
    console.type("\x03")
    console.expect(r"\^C[y\n]*\n" + PROMPT)  # a few more may be printed


def test_quit(console):
    start(console, "sleep 1000", "sleep")
    console.type("\x1c")
    console.expect(r"\^\\Quit\n" + PROMPT)
    assert command(console, "echo $?") == "131\n"


def test_stop_and_continue(console):
    start(console, "sleep 1000", "sleep")
    console.type("\x1a")
    console.expect(r"Stopped[^\n]*sleep 1000\n+" + PROMPT)
    assert "Stopped" in command(console, "jobs")
    command(console, "bg")
    assert "Running" in command(console, "jobs")
    console.type("fg\n")
    console.expect("fg\nsleep 1000\n")
    wait_foreground(console, "sleep")
    console.type("\x03")
    console.expect(PROMPT)
    assert command(console, "jobs") == ""


def test_background_reader_is_stopped(console):
    start_in_background(console, "cat")
    assert "Stopped (tty input)" in command(console, "jobs")
    console.type("fg\n")
    console.expect("cat\n")
    wait_foreground(console, "cat")
    console.type("to the foreground\n\x04")
    console.expect(r"^to the foreground\nto the foreground\n" + PROMPT)


def test_background_writer_is_stopped_with_tostop(console):
    command(console, "stty tostop")
    start_in_background(console, "sleep 0.1 && echo written")
    assert "Stopped (tty output)" in command(console, "jobs")
    command(console, "stty -tostop")
    assert "written" in command(console, "fg; sleep 0.1")


def test_pipeline_is_one_job(console):
    start(console, "sleep 1000 | cat", "sleep")
    console.type("\x1a")
    console.expect(r"Stopped[^\n]*\n+(.*\n)*" + PROMPT)
    console.type("fg\n")
    console.expect("fg\nsleep 1000 | cat\n")
    wait_foreground(console, "sleep")  # before that the shell would get the key
    console.type("\x03")
    console.expect(PROMPT)
    assert command(console, "jobs; ps | grep -c '[s]leep 1000'") == "0\n"


def test_controlling_terminal(console):
    console.type("echo piped | (read line < /dev/tty; echo got $line; cat)\n")
    console.expect(r"cat\)\n")
    console.type("typed\n")
    console.expect(r"got typed\npiped\n" + PROMPT)
    assert "No such device" in command(console, "setsid sh -c ': < /dev/tty'; sleep 0.2")


def test_output_stops_and_goes_on(console):
    console.type("\x13")
    console.type("echo held''back\n")
    assert console.guest.wait_until(lambda: b"heldback" in console.guest.console, 1) is False
    console.type("\x11")
    console.expect(r"heldback\n" + PROMPT)


def test_no_echo(console):
    console.type("stty -echo; echo ready; read x; stty echo; echo got $x\n")
    console.expect("^ready\n")  # what is typed before that can be echoed
    start = len(console.guest.console)
    console.type("secret\n")
    console.expect("^" + PROMPT)
    shown = console.guest.console[start:].decode().replace("\r", "")
    assert shown.rsplit("tty# ", 1)[0] == "got secret\n"


def test_input_that_nobody_reads_yet_is_not_lost(console):
    """It is more than the terminal's buffer holds: the rest waits in the serial port, and before that on the host."""
    console.type("stty raw -echo; echo ready; sleep 1; head -c 20000 | md5sum; stty sane\n")
    console.expect("^ready\n")
    text = "".join(f"{i:07}\n" for i in range(2500))
    console.guest.send(text.encode())
    console.expect(hashlib.md5(text.encode()).hexdigest() + r"  -\n" + PROMPT)


def test_raw_read_with_a_time_limit(console):
    command(console, "stty -icanon min 0 time 5")
    out = command(console, "time head -c 1 | wc -c")
    command(console, "stty icanon")
    assert re.search(r"^0$", out, re.M)
    assert float(re.search(r"real\s+\d+m ([\d.]+)s", out)[1]) > 0.4  # without the limit it would not end


def test_vi(console):
    command(console, "rm -f /tmp/edited")
    console.type("vi /tmp/edited\n")
    console.expect(r"/tmp/edited.* 1/1")
    console.type("ihello\nwrold\x1b")  # vi takes characters that follow Esc at once for a function key
    console.expect(r"- /tmp/edited \[Modified\] 2/2")
    console.type("0cwworld\x1b")
    console.expect(r"- /tmp/edited \[Modified\] 2/2")
    console.type(":wq\n")
    console.expect(PROMPT)
    assert command(console, "cat /tmp/edited") == "hello\nworld\n"


def test_top_on_the_screen(console):
    console.type("top -d 1\n")
    console.expect(r"Mem: \d+K used")
    console.expect(r"PID +PPID")
    console.expect(r"Mem: \d+K used")  # it draws again
    console.type("q")
    console.expect(PROMPT)


def screens(text):
    """The lines of each report: prstat goes to the first line and clears what the report before it had."""
    assert not re.search(r"[^\r]\n", text), "a line feed without a carriage return"
    parts = re.split(r"\x1b\[H(?:\x1b\[J)?", text.replace("\x1b[K", ""))
    return [part.split("\x1b[J")[0].split("\r\n")[:-1] for part in parts[1:] if part]


@pytest.mark.parametrize("rows, columns", [(24, 80), (8, 30)])
def test_prstat_fits_the_screen(console, rows, columns):
    """It draws over the report before, leaves the last line to the cursor, and shows no typed key; q ends it."""
    command(console, f"stty rows {rows} cols {columns}; for i in $(seq 30); do sleep 300 & done")
    start = len(console.guest.console)
    console.type("prstat -a 1\n")
    for _ in range(3):
        console.expect(r"Total: ")
    console.type("xQ")
    console.expect(PROMPT)
    text = console.guest.console[start:].decode().split("prstat -a 1\r\n")[1].rsplit("tty# ", 1)[0]
    shown = screens(text)
    assert len(shown) >= 3 and text.endswith("\x1b[J")
    for lines in shown:
        assert len(lines) == rows - 1 and max(map(len, lines)) <= columns
        assert lines[0].startswith("   PID USERNAME") and lines[-1].startswith("Total: ")
    assert re.search(r" icanon .* echo ", command(console, "stty -a"))
    command(console, "stty rows 24 cols 80; kill $(pidof sleep); wait")


@pytest.mark.parametrize("program", ["prstat -a", "prstat -t", "prstat -L", "lgrptop"])
def test_tiny_screens(console, program):
    for rows, columns in ((1, 1), (2, 3), (1, 500)):
        shown = command(console, f"stty rows {rows} cols {columns}; {program} 1 1 && echo done; stty rows 24 cols 80")
        assert shown.endswith("done\n")


@pytest.mark.parametrize("program", ["prstat", "lgrptop"])
def test_interrupted_screen_gives_the_terminal_back(console, program):
    console.type(f"{program}\n")
    console.expect(r"LGRP CPUS|PID USERNAME")
    console.type("\x1a\x03")  # Ctrl-Z does nothing
    console.expect(PROMPT)
    assert command(console, "echo $?; jobs") == "130\n"
    assert re.search(r" icanon .* echo ", command(console, "stty -a"))


def test_su(console):
    console.type("su student\n")
    console.expect(r"BusyBox(.*\n)*" + PROMPT)
    assert command(console, "id -un") == "student\n"
    assert "Permission denied" in command(console, "cat /proc/1/environ")
    assert "Operation not permitted" in command(console, "kill 1")
    console.type("exit\n")
    console.expect(PROMPT)
    assert command(console, "id -un") == "root\n"


def test_shell_comes_back_after_exit(machine):
    machine.type("\x03exit\n")
    machine.expect(LOGIN)
    machine.type("tty\n")
    machine.expect(r"/dev/console\n(.*\n)*.*" + LOGIN)


def test_much_output_and_input_over_the_verdict_port(machine):
    wanted = "".join(f"{i}\n" for i in range(1, 50001))
    assert machine.check("seq 1 50000") == wanted
    word = "x" * 5000
    assert machine.check(f"echo {word} | wc -c") == "5001\n"


@pytest.mark.part("pty")
def test_pseudo_terminals(machine):
    assert machine.check("/usr/test/ptytest").endswith("ptytest: ok\n")
