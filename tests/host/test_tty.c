// SPDX-License-Identifier: MIT
/*
 * test_tty.c - the line discipline: what readers get and what is sent to the line, key by key.
 *
 * The test uses a struct tty with a driver that collects what is sent, without the rest of the kernel.
 */
#include "proc/proc.h"
#include "tty/tty.h"
#include "tests/host/check.h"

#include <string.h>

static struct tty tty;
static uint16_t ring[64];
static char line[4096]; /* what was sent to the line */
static size_t line_len, line_room;
static bool line_stopped;
static unsigned nresumed; /* how often a paused driver was resumed */

unsigned cv_broadcast(struct cv *cv)
{
    return 0;
}

void poll_wake(struct pollhead *ph)
{
}

static void drv_write(struct tty *t, const char *buf, size_t n)
{
    CHECK(n <= line_room);
    memcpy(line + line_len, buf, n);
    line_len += n;
    line[line_len] = '\0';
}

static size_t drv_room(struct tty *t)
{
    return line_room;
}

static void drv_discard(struct tty *t)
{
}

static void drv_stop(struct tty *t, bool stop)
{
    line_stopped = stop;
}

static void drv_resume_input(struct tty *t)
{
    nresumed++;
}

static const struct tty_driver driver = {
    .write = drv_write,
    .room = drv_room,
    .discard = drv_discard,
    .stop = drv_stop,
    .resume_input = drv_resume_input,
};

static void begin(bool canonical)
{
    static const uint8_t cc[NCCS] = {
        [VINTR] = 3,   [VQUIT] = 28, [VERASE] = 127, [VKILL] = 21,    [VEOF] = 4,     [VMIN] = 1,
        [VSTART] = 17, [VSTOP] = 19, [VSUSP] = 26,   [VREPRINT] = 18, [VWERASE] = 23, [VLNEXT] = 22,
    };

    memset(&tty, 0, sizeof tty);
    tty.drv = &driver;
    tty.ring = ring;
    tty.size = 64;
    memcpy(tty.tio.cc, cc, sizeof cc);
    if (canonical) {
        tty.tio.iflag = ICRNL | IXON | IUTF8 | IMAXBEL;
        tty.tio.oflag = OPOST | ONLCR;
        tty.tio.lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN;
    }
    line_len = 0;
    line[0] = '\0';
    line_room = 256;
}

/* Types the keys.  Returns the last signal. */
static int type(const char *keys)
{
    int sig = 0, s;

    for (; *keys != '\0'; keys++)
        if ((s = tty_input_byte(&tty, (uint8_t)*keys)) != 0)
            sig = s;
    return sig;
}

/* One read of at most n bytes, as a string; "-" if a reader would wait. */
static const char *rd(size_t n)
{
    static char buf[128];
    bool last = false;
    size_t done = 0;

    if (tty_input_ready(&tty) == 0)
        return "-";
    done = tty_input_take(&tty, buf, n, &last);
    buf[done] = '\0';
    return buf;
}

TEST(a_line_is_read_when_it_is_complete)
{
    begin(true);
    type("ls -l");
    CHECK_STR(rd(100), "-");
    type("\rpwd\r");
    CHECK_STR(rd(100), "ls -l\n");
    CHECK_STR(rd(100), "pwd\n");
    CHECK_STR(rd(100), "-");
    CHECK_STR(line, "ls -l\r\npwd\r\n");
}

TEST(a_short_read_leaves_the_rest_of_the_line)
{
    begin(true);
    type("abcdef\n");
    CHECK_STR(rd(4), "abcd");
    CHECK_STR(rd(4), "ef\n");
}

TEST(end_of_file_ends_a_read_without_a_byte)
{
    begin(true);
    type("ab\x04");
    CHECK_STR(rd(100), "ab");
    CHECK_STR(rd(100), "-");
    type("\x04");
    CHECK_STR(rd(100), "");
    CHECK_STR(rd(100), "-");
}

TEST(end_of_file_after_an_exactly_full_read_is_not_a_second_one)
{
    begin(true);
    type("abcd\x04");
    CHECK_STR(rd(4), "abcd");
    CHECK_STR(rd(4), "-");
}

TEST(erase_takes_back_one_character_of_one_column)
{
    begin(true);
    type("ab\x7f\n");
    CHECK_STR(rd(100), "a\n");
    CHECK_STR(line, "ab\b \b\r\n");
}

TEST(erase_stops_at_the_beginning_of_the_line)
{
    begin(true);
    type("x\n\x7f\x7fy\n");
    CHECK_STR(rd(100), "x\n");
    CHECK_STR(rd(100), "y\n");
    CHECK_STR(line, "x\r\ny\r\n");
}

TEST(erase_of_a_control_character_takes_two_columns)
{
    begin(true);
    type("a\x01\x7f\n");
    CHECK_STR(rd(100), "a\n");
    CHECK_STR(line, "a^A\b \b\b \b\r\n");
}

TEST(erase_of_a_tab_takes_the_columns_it_took)
{
    begin(true);
    tty_output(&tty, "$ ", 2);
    type("abc\t\x7f\n");
    CHECK_STR(rd(100), "abc\n");
    CHECK_STR(line, "$ abc\t\b \b\b \b\b \b\r\n"); /* from column 5 to 8 */
}

TEST(erase_of_utf8_takes_all_bytes_and_one_column)
{
    begin(true);
    type("a\xc3\xa9\x7f\n");
    CHECK_STR(rd(100), "a\n");
    CHECK_STR(line, "a\xc3\xa9\b \b\r\n");
}

TEST(word_erase_takes_blanks_and_one_word)
{
    begin(true);
    type("one two  \x17\n");
    CHECK_STR(rd(100), "one \n");
}

TEST(kill_takes_the_line)
{
    begin(true);
    type("junk\x15ok\n");
    CHECK_STR(rd(100), "ok\n");
    CHECK_STR(line, "junk\b \b\b \b\b \b\b \bok\r\n");
}

TEST(literal_next_stores_a_special_character)
{
    begin(true);
    CHECK_EQ(type("a\x16\x03\x16\x7f\n"), 0);
    CHECK_STR(rd(100), "a\x03\x7f\n");
    CHECK_STR(line, "a^\b^C^\b^?\r\n");
}

TEST(signals_flush_the_line_unless_noflsh)
{
    begin(true);
    CHECK_EQ(type("junk\x03"), SIGINT);
    type("ok\n");
    CHECK_STR(rd(100), "ok\n");
    CHECK_STR(line, "junk^Cok\r\n");
    CHECK_EQ(type("\x1c"), SIGQUIT);
    CHECK_EQ(type("\x1a"), SIGTSTP);
    begin(true);
    tty.tio.lflag |= NOFLSH;
    CHECK_EQ(type("ju\x03nk\n"), SIGINT);
    CHECK_STR(rd(100), "junk\n");
}

TEST(stop_and_start)
{
    begin(true);
    type("\x13");
    CHECK(line_stopped);
    type("\x11");
    CHECK(!line_stopped);
    CHECK_STR(rd(100), "-");
    type("\x13\x03");
    CHECK(!line_stopped); /* a signal starts the output again */
}

TEST(reprint_shows_the_line_again)
{
    begin(true);
    type("ab\x12\n");
    CHECK_STR(line, "ab^R\r\nab\r\n");
    CHECK_STR(rd(100), "ab\n");
}

TEST(without_echo_only_a_newline_with_echonl)
{
    begin(true);
    tty.tio.lflag &= ~(uint32_t)ECHO;
    type("secret\n");
    CHECK_STR(line, "");
    tty.tio.lflag |= ECHONL;
    type("secret\n");
    CHECK_STR(line, "\r\n");
}

TEST(a_line_that_is_too_long_keeps_its_newline)
{
    begin(true);
    for (int i = 0; i < 100; i++)
        type("x");
    CHECK_EQ(tty_input_room(&tty), 1);
    type("\n");
    CHECK_EQ(strlen(rd(100)), 64);
    CHECK(strchr(line, '\a') != NULL);
}

TEST(complete_lines_that_fill_the_ring_hold_the_driver_back)
{
    begin(true);
    for (int i = 0; i < 31; i++)
        type("x\n");
    CHECK_EQ(tty_input_room(&tty), 1);
    type("y");
    CHECK_EQ(tty_input_room(&tty), 0);
    CHECK_STR(rd(100), "x\n");
    CHECK_EQ(tty_input_room(&tty), 2);
}

TEST(a_discard_lets_a_paused_driver_go_on)
{
    begin(true);
    nresumed = 0;
    for (int i = 0; i < 31; i++)
        type("x\n");
    tty.paused = true; /* set by a driver when there is no room */
    rd(100);
    tty_resume_input(&tty);
    CHECK_EQ(nresumed, 0); /* more than half of the ring is full */
    tty_input_discard(&tty);
    CHECK_EQ(nresumed, 1);
    CHECK(!tty.paused);
    tty_input_discard(&tty);
    CHECK_EQ(nresumed, 1);
}

TEST(raw_mode_passes_everything)
{
    begin(false);
    CHECK_EQ(type("a\x03\r\x7f"), 0);
    CHECK_STR(rd(100), "a\x03\r\x7f");
    CHECK_STR(line, "");
    for (int i = 0; i < 64; i++) {
        CHECK_EQ(tty_input_room(&tty), 64 - i);
        type("x");
    }
    CHECK_EQ(tty_input_room(&tty), 0);
    CHECK_EQ(tty_input_ready(&tty), 64);
}

TEST(a_change_of_mode_keeps_what_was_typed)
{
    begin(true);
    type("abc");
    tty.tio.lflag &= ~(uint32_t)ICANON;
    tty_input_mode_changed(&tty);
    CHECK_STR(rd(2), "ab");
    tty.tio.lflag |= ICANON;
    tty_input_mode_changed(&tty);
    CHECK_STR(rd(100), "c");
    CHECK_STR(rd(100), "-");
}

TEST(output_expands_newlines_and_tabs)
{
    begin(true);
    tty_output(&tty, "a\tb\n", 4);
    CHECK_STR(line, "a\tb\r\n");
    line_len = 0;
    tty.tio.oflag |= XTABS;
    tty_output(&tty, "a\tb\n", 4);
    CHECK_STR(line, "a       b\r\n");
    line_len = 0;
    tty.tio.oflag = 0;
    tty_output(&tty, "a\tb\n", 4);
    CHECK_STR(line, "a\tb\n");
}

TEST(output_takes_only_what_has_room)
{
    char many[300];

    begin(true);
    memset(many, '\n', sizeof many);
    line_room = 7;
    CHECK_EQ(tty_output(&tty, many, sizeof many), 0);
    line_room = 20;
    CHECK(tty_output(&tty, many, sizeof many) >= 6);
    CHECK(line_len <= 20);
    tty.tio.oflag = 0;
    line_len = 0;
    CHECK_EQ(tty_output(&tty, many, sizeof many), 20);
}
