// SPDX-License-Identifier: MIT
/*
 * etc_system.c - /etc/system: tunables set before the system starts, after Solaris 9's system(4).
 *
 * THEORY      /etc/system is a text file with one command per line.  A line that begins with `*` or `#` is a
 *             comment.  The commands:
 *                 set [module:]name {= | & | |} [~ | -]number
 *                 forceload: exclude: include: moddir: rootfs: rootdev: swapfs: swapdev: name
 *             Numbers are decimal, hexadecimal (0x) or octal (0).  rootfs and rootdev select the root file
 *             system (system_root_fs, system_root_dev).  The other commands with a colon are for loadable
 *             modules and swap, which Homeroom does not configure in this file.  The kernel checks their syntax
 *             and then ignores them.  A keyword is written in small letters or in capital letters only.
 *             tunable_set() refuses a value outside the range of the variable.  In that case the kernel prints
 *             one warning, and the variable keeps its value.  `~` and `-1` apply to the width of the variable.
 *             Other negative numbers are refused, because all variables are unsigned.
 * INVARIANTS  I1  a line changes nothing if its warning is not "extraneous input" or "more than once"
 *             I2  every line is read, whatever the text is, and boot always continues
 * LOCKING     There are no locks: the boot CPU calls these functions before the other CPUs start.
 * SEE ALSO    tests/host/test_system.c, docs/tunables.md
 */
#include "stat/tunable.h"

#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "stat/panic.h"

enum { WORD_MAX = 64, ASSIGNED_MAX = 64 };

struct cursor {
    const char *p, *end; /* the rest of the line */
    unsigned line;       /* number of the line, from 1 */
};

/* The tunables that the file has assigned with `=`.  A second assignment causes a warning. */
struct assigned {
    unsigned n;
    const struct tunable *t[ASSIGNED_MAX];
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_config_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

static void skip_blanks(struct cursor *c)
{
    while (c->p < c->end && is_blank(*c->p))
        c->p++;
}

static bool is_at_line_end(struct cursor *c)
{
    skip_blanks(c);
    return c->p == c->end;
}

/*
 * Skips blanks, then takes the next character if it is `ch`; returns false if it is another
 * character.
 */
static bool take_char(struct cursor *c, char ch)
{
    if (is_at_line_end(c) || *c->p != ch)
        return false;
    c->p++;
    return true;
}

/*
 * Takes a word of letters, digits, `_` and `.`; returns false if there is no word (then word[] is
 * "") or if the word is too long.
 */
static bool take_word(struct cursor *c, char word[WORD_MAX])
{
    size_t n = 0;

    skip_blanks(c);
    while (c->p < c->end && is_config_word_char(*c->p) && n < WORD_MAX - 1)
        word[n++] = *c->p++;
    word[n] = '\0';
    return n > 0 && (c->p == c->end || !is_config_word_char(*c->p));
}

static void warn_about_line(const struct cursor *c, const char *what)
{
    warn("%s on line %u of etc/system", what, c->line);
}

/* [~|-]number as it is written in the file. */
struct number {
    char sign; /* '~', '-', or 0 */
    char word[WORD_MAX];
    uint64_t value; /* the value of `word` */
};

/* Takes [~|-]number; false unless all of the word is a number of at most 64 bits. */
static bool take_number(struct cursor *c, struct number *out)
{
    const char *s = out->word;
    unsigned base = 10;
    uint64_t v = 0;

    out->sign = '\0';
    if (take_char(c, '~'))
        out->sign = '~';
    else if (take_char(c, '-'))
        out->sign = '-';
    if (!take_word(c, out->word))
        return false;
    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
        base = 16;
        s += 2;
        if (*s == '\0')
            return false;
    } else if (s[0] == '0') {
        base = 8;
    }
    for (; *s != '\0'; s++) {
        unsigned d = digit_value(*s);

        if (d >= base || v > (UINT64_MAX - d) / base)
            return false;
        v = v * base + d;
    }
    out->value = v;
    return true;
}

static void warn_if_reassigned(struct assigned *as, const struct tunable *t)
{
    for (unsigned i = 0; i < as->n; i++)
        if (as->t[i] == t) {
            warn("'%s' is set more than once in etc/system, 0x%llx is in force", t->name,
                 (unsigned long long)tunable_get(t));
            return;
        }
    if (as->n < ASSIGNED_MAX)
        as->t[as->n++] = t;
}

/*
 * Prints one line: the refused value, the number of the line in the file, the allowed range, and the value that
 * stays.
 */
static void warn_value_refused(const struct cursor *c, const struct tunable *t, char op,
                               const struct number *n)
{
    uint64_t now = tunable_get(t);
    char sign[2] = {n->sign, '\0'};
    /* printed if the value is out of range: the default may not be computed yet */
    char stays[24] = "the default";

    if (now >= t->least && now <= t->greatest)
        snprintf(stays, sizeof stays, "%lu", now);
    warn("%s%c%s%s on line %u of etc/system: allowed are %lu to %lu; %s stays", t->name, op, sign,
         n->word, c->line, t->least, t->greatest, stays);
}

/* Carries out `name op number`; `module` is "" for the kernel itself. */
static void assign_tunable(const struct cursor *c, const char *module, const char *name, char op,
                           const struct number *n, struct assigned *as)
{
    uint64_t value = n->value, all;
    char full[2 * WORD_MAX];
    size_t mlen = strlen(module);
    const struct tunable *t;

    memcpy(full, module, mlen);
    if (mlen > 0)
        full[mlen++] = ':';
    memcpy(full + mlen, name, strlen(name) + 1);
    t = tunable_find(full);
    if (t == NULL) {
        if (*module != '\0')
            warn("sorry, variable '%s' is not defined in the '%s' module on line %u of etc/system",
                 name, module, c->line);
        else
            warn("sorry, variable '%s' is not defined in the 'kernel' on line %u of etc/system",
                 name, c->line);
        return;
    }
    all = t->size < 8 ? (1ul << (8 * t->size)) - 1 : UINT64_MAX;
    if (n->sign == '-' && n->value != 1) {
        warn_value_refused(c, t, op, n);
        return;
    }
    if (n->sign != '\0')
        value = (n->sign == '~' ? ~value : -value) & all;
    if (op == '&')
        value &= tunable_get(t);
    else if (op == '|')
        value |= tunable_get(t);
    switch (tunable_set(t, value)) {
    case 0:
        if (op == '=')
            warn_if_reassigned(as, t);
        break;
    case -EPERM:
        warn_about_line(c, "variable cannot be set");
        break;
    case -ERANGE:
        warn_value_refused(c, t, op, n);
        break;
    default:
        warn_about_line(c, t->set != NULL ? "value refused" : "variable of unusual size not set");
    }
}

static void warn_extra_input(struct cursor *c)
{
    if (!is_at_line_end(c))
        warn_about_line(c, "extraneous input ignored");
}

/* Takes the name of a variable or module; false after a warning. */
static bool take_variable_name(struct cursor *c, char word[WORD_MAX])
{
    if (take_word(c, word))
        return true;
    warn_about_line(c, *word == '\0' ? "missing variable name" : "variable name too long");
    return false;
}

/* set [module:]name {=|&||} value */
static void run_set_command(struct cursor *c, struct assigned *as)
{
    char first[WORD_MAX], second[WORD_MAX];
    bool has_module;
    char op;
    struct number number;

    if (!take_variable_name(c, first))
        return;
    has_module = take_char(c, ':');
    if (has_module && !take_variable_name(c, second))
        return;
    if (is_at_line_end(c) || (*c->p != '=' && *c->p != '&' && *c->p != '|')) {
        warn_about_line(c, "bad or missing operator");
        return;
    }
    op = *c->p++;
    if (is_at_line_end(c)) {
        warn_about_line(c, "missing value");
        return;
    }
    if (*c->p == '"') {
        warn_about_line(c, "variable is not a string");
        return;
    }
    if (!take_number(c, &number)) {
        warn_about_line(c, "bad number");
        return;
    }
    warn_extra_input(c);
    assign_tunable(c, has_module ? first : "", has_module ? second : first, op, &number, as);
}

char system_root_fs[16], system_root_dev[96];

/*
 * `keyword: name`: copies the name to keep[size] if keep is not NULL.  A later line replaces an earlier one.
 */
static void run_colon_command(struct cursor *c, char *keep, size_t size)
{
    const char *from;

    if (!take_char(c, ':')) {
        warn_about_line(c, "missing colon");
        return;
    }
    if (is_at_line_end(c)) {
        warn_about_line(c, "missing value");
        return;
    }
    for (from = c->p; c->p < c->end && !is_blank(*c->p); c->p++)
        ;
    if (keep != NULL) {
        size_t n = (size_t)(c->p - from);

        if (n >= size) {
            warn_about_line(c, "name too long");
            return;
        }
        memcpy(keep, from, n);
        keep[n] = '\0';
    }
    warn_extra_input(c);
}

/* Whether `word` is `keyword` (given in small letters) in all small or all capital letters. */
static bool is_keyword(const char *word, const char *keyword)
{
    char capital[WORD_MAX];

    if (strcmp(word, keyword) == 0)
        return true;
    str_copy(capital, keyword, sizeof capital);
    for (char *s = capital; *s != '\0'; s++)
        *s = (char)(*s - 'a' + 'A');
    return strcmp(word, capital) == 0;
}

static void run_system_line(struct cursor *c, struct assigned *as)
{
    static const struct {
        const char *keyword;
        char *keep; /* where to store the name; NULL: nowhere */
        size_t size;
    } with_colon[] = {
        {.keyword = "forceload"},
        {.keyword = "exclude"},
        {.keyword = "include"},
        {.keyword = "moddir"},
        {"rootfs", system_root_fs, sizeof system_root_fs},
        {"rootdev", system_root_dev, sizeof system_root_dev},
        {.keyword = "swapfs"},
        {.keyword = "swapdev"},
    };
    char word[WORD_MAX];

    if (c->p < c->end && (*c->p == '*' || *c->p == '#'))
        return;
    if (is_at_line_end(c))
        return;
    if (take_word(c, word)) {
        if (is_keyword(word, "set")) {
            run_set_command(c, as);
            return;
        }
        for (unsigned i = 0; i < array_size(with_colon); i++)
            if (is_keyword(word, with_colon[i].keyword)) {
                run_colon_command(c, with_colon[i].keep, with_colon[i].size);
                return;
            }
    }
    warn_about_line(c, "unknown command");
}

void system_file_apply(const char *text, size_t len)
{
    struct assigned as = {0};
    struct cursor c = {.line = 0};
    const char *next = text;
    const char *end = text + len;

    while (next < end) {
        c.p = next;
        c.end = memchr(next, '\n', (size_t)(end - next));
        if (c.end == NULL)
            c.end = end;
        next = c.end + 1;
        c.line++;
        run_system_line(&c, &as);
    }
}
