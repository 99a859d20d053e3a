// SPDX-License-Identifier: MIT
/*
 * test_system.c - /etc/system: every form of a line, every reaction to a bad line.
 *
 * The registry is the real one, with variables of different sizes.  Warnings are collected as text.
 */
#include "lib/errno.h"
#include "stat/panic.h"
#include "stat/tunable.h"
#include "tests/host/check.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static uint8_t byte_var;
static uint16_t short_var;
static uint32_t int_var, fixed_var = 7, ranged_var, late_var;
static uint64_t long_var, ufs_HW;
static struct {
    char bytes[3];
} odd_var;

TUNABLE(byte_var, 0, UINT8_MAX, "");
TUNABLE(short_var, 0, UINT16_MAX, "");
TUNABLE(int_var, 0, UINT32_MAX, "");
TUNABLE(ranged_var, 5, 100, "");
TUNABLE(late_var, 64, 30000, "its default, 0, is yet to be computed");
TUNABLE(long_var, 0, UINT64_MAX, "");
TUNABLE_M("ufs", ufs_HW, 0, 1ul << 40, "");
TUNABLE_RO(fixed_var, "");
TUNABLE(odd_var, 0, 1000, "");
static char warnings[8192];

void warn(const char *fmt, ...)
{
    size_t n = strlen(warnings);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(warnings + n, sizeof warnings - n, fmt, ap);
    va_end(ap);
    strcat(warnings, "\n");
}

size_t str_copy(char *dst, const char *src, size_t size)
{
    snprintf(dst, size, "%s", src);
    return strlen(src);
}

static void apply(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    size_t n = strlen(text);

    byte_var = 0;
    short_var = 0;
    int_var = 0;
    long_var = 0;
    ufs_HW = 0;
    ranged_var = 50;
    late_var = 0;
    warnings[0] = '\0';
    /* without a NUL after it, so that the sanitizer sees a read beyond the end */
    memcpy(copy, text, n);
    copy = realloc(copy, n ? n : 1);
    system_file_apply(copy, n);
    free(copy);
}

TEST(forms_of_a_number)
{
    apply("set int_var=10\nset long_var=0x10\nset short_var=010");
    CHECK_STR(warnings, "");
    CHECK_EQ(int_var, 10);
    CHECK_EQ(long_var, 16);
    CHECK_EQ(short_var, 8);
    apply("set int_var = 0X1f\nset long_var = 0\nset byte_var\t=\t7 \r\n");
    CHECK_STR(warnings, "");
    CHECK_EQ(int_var, 31);
    CHECK_EQ(byte_var, 7);
    apply("set long_var=-1\nset int_var=~0xff\nset long_var|18446744073709551615");
    CHECK_STR(warnings, "");
    CHECK_EQ(long_var, -1);
    CHECK_EQ(int_var, 0xffffff00);
}

TEST(width_follows_the_symbol)
{
    apply("set byte_var=~0\nset short_var=-1\nset int_var=~0xf");
    CHECK_STR(warnings, "");
    CHECK_EQ(byte_var, 0xff);
    CHECK_EQ(short_var, 0xffff);
    CHECK_EQ(int_var, 0xfffffff0);
}

/* One line for each, with the requested value, the allowed range and the value that stays. */
TEST(values_outside_the_range)
{
    static const struct {
        const char *text, *range;
    } rows[] = {
        {"ranged_var=4", "5 to 100; 50"},
        {"ranged_var=101", "5 to 100; 50"},
        {"ranged_var=0x1234", "5 to 100; 50"},
        {"ranged_var=-1", "5 to 100; 50"},
        {"ranged_var=-50", "5 to 100; 50"},
        {"ranged_var=~0", "5 to 100; 50"},
        {"ranged_var=0x100000032", "5 to 100; 50"},
        {"ranged_var|0x40", "5 to 100; 50"},
        {"ranged_var&1", "5 to 100; 50"},
        {"late_var=1", "64 to 30000; the default"},
        {"late_var=30001", "64 to 30000; the default"},
        {"byte_var=0x100", "0 to 255; 0"},
        {"short_var=0x123456", "0 to 65535; 0"},
        {"int_var=0x123456789a", "0 to 4294967295; 0"},
        {"int_var=-5", "0 to 4294967295; 0"},
        {"long_var=-5", "0 to 18446744073709551615; 0"},
    };
    char text[128], want[256];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "* first\nset %s\n", rows[i].text);
        snprintf(want, sizeof want, "%s on line 2 of etc/system: allowed are %s stays\n",
                 rows[i].text, rows[i].range);
        apply(text);
        CHECK_STR(warnings, want);
        CHECK_EQ(ranged_var, 50);
        CHECK_EQ(late_var + byte_var + short_var + int_var + long_var, 0);
    }
    apply("set ranged_var=5\nset late_var=30000");
    CHECK_STR(warnings, "");
    CHECK_EQ(ranged_var, 5);
    CHECK_EQ(late_var, 30000);
    apply("set ranged_var=100\nset late_var=64");
    CHECK_STR(warnings, "");
    CHECK_EQ(ranged_var, 100);
    CHECK_EQ(late_var, 64);
}

TEST(and_or_accumulate)
{
    apply("set int_var=0xf0\nset int_var|0x0f\nset int_var & ~0x3c\nset int_var | 0x100");
    CHECK_STR(warnings, "");
    CHECK_EQ(int_var, 0x1c3);
}

TEST(modules)
{
    apply("set ufs:ufs_HW=6291456");
    CHECK_STR(warnings, "");
    CHECK_EQ(ufs_HW, 6291456);
    apply("set ufs : ufs_HW = 5");
    CHECK_EQ(ufs_HW, 5);
    apply("set ufs:nothing=1");
    CHECK_STR(
        warnings,
        "sorry, variable 'nothing' is not defined in the 'ufs' module on line 1 of etc/system\n");
    apply("set md:ufs_HW=1");
    CHECK_STR(
        warnings,
        "sorry, variable 'ufs_HW' is not defined in the 'md' module on line 1 of etc/system\n");
    CHECK_EQ(ufs_HW, 0);
}

TEST(comments_and_blank_lines)
{
    apply("* set int_var=1\n# set int_var=2\n\n   \n\t\nset int_var=3\n");
    CHECK_STR(warnings, "");
    CHECK_EQ(int_var, 3);
    apply(" * not in the first column");
    CHECK_STR(warnings, "unknown command on line 1 of etc/system\n");
}

TEST(ignored_commands)
{
    apply("forceload: drv/foo\nexclude: sys/shmsys\ninclude: x\nmoddir: /kernel:/usr/kernel\n"
          "rootfs:ufs\nrootdev: /sbus@1,f8000000/esp@0,800000/sd@3,0:a\nswapfs: x\nswapdev: y\n");
    CHECK_STR(warnings, "");
}

TEST(keywords_all_small_or_all_capital)
{
    apply("SET int_var=1\nFORCELOAD: drv/x");
    CHECK_STR(warnings, "");
    CHECK_EQ(int_var, 1);
    apply("Set int_var=1");
    CHECK_STR(warnings, "unknown command on line 1 of etc/system\n");
    CHECK_EQ(int_var, 0);
}

TEST(bad_lines_set_nothing)
{
    static const struct {
        const char *text, *warning;
    } rows[] = {
        {"frobnicate int_var=1", "unknown command"},
        {"set32 int_var=1", "unknown command"},
        {"=1", "unknown command"},
        {"forceload drv/foo", "missing colon"},
        {"forceload:", "missing value"},
        {"exclude:   ", "missing value"},
        {"set", "missing variable name"},
        {"set ufs:", "missing variable name"},
        {"set =1", "missing variable name"},
        {"set int_var", "bad or missing operator"},
        {"set int_var 1", "bad or missing operator"},
        {"set int_var+1", "bad or missing operator"},
        {"set int_var=", "missing value"},
        {"set int_var=   ", "missing value"},
        {"set int_var=12abc", "bad number"},
        {"set int_var=0x", "bad number"},
        {"set int_var=0xfg", "bad number"},
        {"set int_var=08", "bad number"},
        {"set int_var==1", "bad number"},
        {"set int_var=--1", "bad number"},
        {"set int_var=18446744073709551616", "bad number"},
        {"set int_var=\"text\"", "variable is not a string"},
        {"set fixed_var=1", "variable cannot be set"},
        {"set odd_var=1", "variable of unusual size not set"},
    };
    char text[256], want[256];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "* first\n%s\nset long_var=5\n", rows[i].text);
        snprintf(want, sizeof want, "%s on line 2 of etc/system\n", rows[i].warning);
        apply(text);
        CHECK_STR(warnings, want);
        CHECK_EQ(int_var, 0);
        CHECK_EQ(fixed_var, 7);
        CHECK_EQ(odd_var.bytes[0], 0);
        CHECK_EQ(long_var, 5); /* the boot continues with the next line */
    }
}

TEST(extraneous_input)
{
    apply("set int_var=1 and more\nforceload: drv/foo bar");
    CHECK_STR(warnings, "extraneous input ignored on line 1 of etc/system\n"
                        "extraneous input ignored on line 2 of etc/system\n");
    CHECK_EQ(int_var, 1);
}

TEST(unknown_symbol)
{
    apply("set priority_paging=1");
    CHECK_STR(
        warnings,
        "sorry, variable 'priority_paging' is not defined in the 'kernel' on line 1 of etc/system\n");
}

TEST(later_assignment_wins)
{
    apply("set int_var=1\nset long_var=3\nset int_var=2");
    CHECK_STR(warnings, "'int_var' is set more than once in etc/system, 0x2 is in force\n");
    CHECK_EQ(int_var, 2);
}

TEST(any_bytes_are_survived)
{
    static const char alphabet[] = "set int_var=1\n:|&~-x0 *#\"\t\rUFS";
    char text[200];

    for (int round = 0; round < 20000; round++) {
        size_t n = check_below(sizeof text - 1);

        for (size_t i = 0; i < n; i++)
            text[i] = check_below(8) ? alphabet[check_below(sizeof alphabet - 1)]
                                     : (char)(1 + check_below(255));
        text[n] = '\0';
        apply(text);
    }
}
