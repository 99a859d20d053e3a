// SPDX-License-Identifier: MIT
/*
 * mdb.c - reads and writes kernel variables in the language of Solaris's mdb: `echo nlgrps/X | mdb -k`.
 *
 * THEORY      Commands come from standard input, one in each line: `name/F` reads with format F, `name/W value` writes.
 *             Numbers are hexadecimal unless they have a prefix (0t decimal, 0o octal, 0i binary).
 *             Formats and write commands are rows of tables: letter, width and base.  A write changes as many low bytes
 *             as its letter says, so W on a 64-bit variable leaves the upper half as it is.  The kernel refuses values
 *             outside a variable's range.  -1 sets all bits; no variable has other negative values.
 * SEE ALSO    docs/tunables.md; SYS_tunable in include/uapi/homeroom.h
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

#define COLUMN 16 /* values begin at a multiple of this column */

struct format {
    char letter;
    unsigned bytes;
    char base; /* x: hexadecimal, u: unsigned, d: signed decimal */
};

static const struct format read_format[] = {
    {'X', 4, 'x'}, {'J', 8, 'x'}, {'K', 8, 'x'}, {'x', 2, 'x'}, {'B', 1, 'x'},
    {'U', 4, 'u'}, {'E', 8, 'u'}, {'D', 4, 'd'}, {'e', 8, 'd'}, {'d', 2, 'd'},
};
static const struct format write_format[] = {
    {'v', 1, 'x'}, {'w', 2, 'x'}, {'W', 4, 'x'}, {'Z', 8, 'x'}};

static bool may_write;

static const struct format *find(const struct format *table, size_t n, char letter)
{
    for (size_t i = 0; i < n; i++)
        if (table[i].letter == letter)
            return &table[i];
    return NULL;
}

/* The low `bytes` bytes of the value. */
static uint64_t low_bytes(uint64_t value, unsigned bytes)
{
    return bytes >= 8 ? value : value & ((1ull << (bytes * 8)) - 1);
}

/* Prints "name:" and blanks up to the next such column. */
static void print_name(const char *name)
{
    int used = printf("%s:", name);

    printf("%*s", COLUMN - used % COLUMN, "");
}

static void print_value(uint64_t value, const struct format *f)
{
    unsigned unused = 64 - f->bytes * 8;

    value = low_bytes(value, f->bytes);
    if (f->base == 'x')
        printf("%" PRIx64, value);
    else if (f->base == 'u')
        printf("%" PRIu64, value);
    else
        printf("%" PRId64, (int64_t)(value << unused) >> unused);
}

/* Parses the whole of `text` as a number in mdb's notation.  Returns 0 or -1. */
static int parse_number(const char *text, uint64_t *out)
{
    static const struct {
        char prefix[3];
        int base;
    } notation[] = {{"0t", 10}, {"0x", 16}, {"0o", 8}, {"0i", 2}};
    bool negative = *text == '-';
    int base = 16;
    char *end;

    text += negative;
    for (size_t i = 0; i < sizeof notation / sizeof notation[0]; i++) {
        if (strncasecmp(text, notation[i].prefix, 2) == 0) {
            base = notation[i].base;
            text += 2;
            break;
        }
    }
    if (!isxdigit((unsigned char)*text))
        return -1;
    errno = 0;
    *out = strtoull(text, &end, base);
    if (errno != 0 || *end != '\0')
        return -1;
    if (negative)
        *out = -*out;
    return 0;
}

/* Reads a variable.  Returns 0; -1 after mdb's message. */
static int fetch(const char *name, struct hr_tunable *var)
{
    if (hr_tunable_get(name, var) == 0)
        return 0;
    fprintf(stderr, "mdb: failed to dereference symbol %s: %s\n", name,
            errno == ENOENT ? "unknown symbol name" : hr_strerror(errno));
    return -1;
}

/* Prints why the variable did not get the value `text`.  Returns -1. */
static int refused(const char *name, const char *text, const struct hr_tunable *var)
{
    if (!var->writable)
        fprintf(stderr, "mdb: failed to write %s: it is read only\n", name);
    else if (var->writable == 2)
        fprintf(stderr, "mdb: failed to write %s: it is read at boot: set it in /etc/system\n",
                name);
    else if (errno == ERANGE)
        fprintf(stderr,
                "mdb: failed to write %s: allowed are 0t%llu to 0t%llu, not %s; 0t%llu stays\n",
                name, var->least, var->greatest, text, var->value);
    else
        fprintf(stderr, "mdb: failed to write %s: %s\n", name, hr_strerror(errno));
    return -1;
}

static int do_read(const char *name, const struct format *f)
{
    struct hr_tunable var;

    if (fetch(name, &var) != 0)
        return -1;
    printf("%s:\n", name);
    print_name(name);
    print_value(var.value, f);
    printf("\n");
    return 0;
}

static int do_write(const char *name, const struct format *f, const char *text)
{
    struct hr_tunable var, new;
    uint64_t value, mask;
    unsigned bytes;

    if (!may_write) {
        fprintf(stderr, "mdb: failed to write %s: kernel is not open for writing (use -kw)\n",
                name);
        return -1;
    }
    if (*text == '\0') {
        fprintf(
            stderr,
            "mdb: syntax error: %s/%c lacks a value: write it behind the %c, 0t5 for decimal 5\n",
            name, f->letter, f->letter);
        return -1;
    }
    if (parse_number(text, &value) != 0) {
        fprintf(stderr,
                "mdb: syntax error: \"%s\" is not a number: 1f is hexadecimal, 0t31 decimal\n",
                text);
        return -1;
    }
    if (fetch(name, &var) != 0)
        return -1;
    bytes = f->bytes < var.size ? f->bytes : var.size;
    mask = low_bytes(~0ull, bytes);
    if (*text == '-') { /* parse_number() has made all 64 bits of -1 */
        errno = ERANGE;
        if (value != ~0ull)
            return refused(name, text, &var);
        value = mask;
    }
    if (low_bytes(value, f->bytes) != value) {
        fprintf(stderr, "mdb: failed to write %s: %s does not fit into the %u bytes of %c\n", name,
                text, f->bytes, f->letter);
        return -1;
    }
    new = var;
    new.value = bytes == var.size ? value : (var.value & ~mask) | value;
    if (hr_tunable_set(name, &new) != 0)
        return refused(name, text, &var);
    print_name(name);
    printf("%#-16" PRIx64 "=       %#" PRIx64 "\n", (uint64_t)var.value & mask, value);
    return 0;
}

/* Executes one command line.  Returns 0; -1 after a message. */
static int execute(char *line)
{
    const struct format *f;
    char *slash, *name, *end;

    name = line + strspn(line, " \t");
    for (end = name + strlen(name); end > name && isspace((unsigned char)end[-1]);)
        *--end = '\0';
    if (*name == '\0')
        return 0;
    slash = strchr(name, '/');
    if (slash == NULL || slash == name || slash[1] == '\0') {
        fprintf(stderr, "mdb: syntax error near \"%s\"\n", name);
        return -1;
    }
    *slash = '\0';
    if ((f = find(write_format, sizeof write_format / sizeof *write_format, slash[1])) != NULL)
        return do_write(name, f, slash + 2 + strspn(slash + 2, " \t"));
    f = find(read_format, sizeof read_format / sizeof *read_format, slash[1]);
    if (f == NULL || slash[2] != '\0') {
        fprintf(stderr, "mdb: syntax error: unknown format \"%s\"\n", slash + 1);
        return -1;
    }
    return do_read(name, f);
}

static const char help[] HR_MANUAL =
    "NAME\n"
    "    mdb - read and write variables of the kernel\n"
    "\n"
    "SYNOPSIS\n"
    "    echo 'name/format' | mdb -k\n"
    "    echo 'name/W value' | mdb -kw\n"
    "\n"
    "DESCRIPTION\n"
    "    Commands come from standard input, one on a line.  name/format reads a\n"
    "    variable, name/W value writes it.  Numbers are hexadecimal; 0t is the\n"
    "    prefix of decimal ones, 0o of octal, 0i of binary.  The kernel refuses\n"
    "    values outside the range of a variable.  $q ends mdb.\n"
    "\n"
    "    Formats: X J K x B are hexadecimal with 4, 8, 8, 2 and 1 bytes, U and E\n"
    "    unsigned with 4 and 8, D, d and e signed with 4, 2 and 8.  To write: v, w,\n"
    "    W and Z have 1, 2, 4 and 8 bytes.\n"
    "\n"
    "OPTIONS\n"
    "    -k            the variables of the running kernel; must be given\n"
    "    -w            they may be written, by root\n"
    "\n"
    "EXAMPLES\n"
    "    echo nlgrps/X | mdb -k\n"
    "    echo lgrp_mem_default_policy/W 4 | mdb -kw\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 a command failed, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    kstat, docs/tunables.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

int main(int argc, char **argv)
{
    bool kernel = false;
    char *line = NULL;
    size_t space = 0;
    int opt, failed = 0;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "kw")) != -1) {
        if (opt == 'k')
            kernel = true;
        else if (opt == 'w')
            may_write = true;
        else
            usage();
    }
    if (optind != argc)
        fprintf(stderr, "mdb: %s: no operands: commands come from standard input\n", argv[optind]);
    if (!kernel || optind != argc)
        usage();
    while (getline(&line, &space, stdin) > 0 && strcmp(line, "$q\n") != 0 &&
           strcmp(line, "::quit\n") != 0) {
        failed |= execute(line);
        fflush(stdout);
    }
    if (ferror(stdin)) {
        hr_perror("mdb", "standard input");
        failed = 1;
    }
    free(line);
    return failed != 0;
}
