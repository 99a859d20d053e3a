// SPDX-License-Identifier: MIT
/*
 * text.c - text of unknown length, for the files of procfs and sysfs.
 *
 * THEORY      A text is a chain of chunks, so that it grows without copying.  The chunks are small, so that
 *             statistics can be read even when memory is short and fragmented.  If there is no memory for a
 *             chunk, the text is marked as failed, and nothing more is added.  The chunks are charged to the
 *             user that reads the file (mem/usermem.h).
 * LOCKING     A text has no lock; the caller must make sure that only one thread uses it at a time.
 * SEE ALSO    pseudo.h
 */
#include "vfs/pseudo.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/usermem.h"

enum { CHUNK = 1000, LINE = 256 };

struct text_chunk {
    struct text_chunk *next;
    struct usermem *payer;
    size_t used;
    char data[CHUNK];
};

static bool add_text_chunk(struct text *t)
{
    struct usermem *payer = usermem_charge(sizeof(struct text_chunk));
    struct text_chunk *c = payer != NULL ? kmem_alloc(sizeof *c) : NULL;

    if (c == NULL) {
        if (payer != NULL)
            usermem_return(payer, sizeof *c);
        t->failed = true;
        return false;
    }
    c->next = NULL;
    c->payer = payer;
    c->used = 0;
    if (t->first == NULL)
        t->first = c;
    else
        t->last->next = c;
    t->last = c;
    return true;
}

void text_bytes(struct text *t, const void *p, size_t n)
{
    const char *from = p;

    while (n > 0 && !t->failed) {
        struct text_chunk *c = t->last;
        size_t k;

        if (c == NULL || c->used == CHUNK) {
            if (!add_text_chunk(t))
                return;
            continue;
        }
        k = min_of(n, CHUNK - c->used);
        memcpy(c->data + c->used, from, k);
        c->used += k;
        t->len += k;
        from += k;
        n -= k;
    }
}

void text_str(struct text *t, const char *s)
{
    text_bytes(t, s, strlen(s));
}

void text_escaped(struct text *t, const char *s, const char *special)
{
    for (; *s != '\0'; s++) {
        if (strchr(special, *s) != NULL)
            text_add(t, "\\%03o", (uint8_t)*s);
        else
            text_bytes(t, s, 1);
    }
}

void text_add(struct text *t, const char *fmt, ...)
{
    char line[LINE];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    text_bytes(t, line, min_of((size_t)n, sizeof line - 1));
}

void text_mask(struct text *t, const uint64_t *words, unsigned nbits)
{
    unsigned n = (nbits + 31) / 32;

    for (unsigned i = n; i-- > 0;) {
        unsigned digits = i == n - 1 && nbits % 32 != 0 ? (nbits % 32 + 3) / 4 : 8;

        text_add(t, "%0*x%s", (int)digits, (uint32_t)(words[i / 2] >> (i % 2 * 32)),
                 i > 0 ? "," : "");
    }
}

static bool is_bit_set(const uint64_t *words, unsigned nbits, unsigned i)
{
    return i < nbits && (words[i / 64] >> (i % 64) & 1);
}

void text_list(struct text *t, const uint64_t *words, unsigned nbits)
{
    const char *comma = "";

    for (unsigned i = 0, end; i < nbits; i = end) {
        for (end = i + 1; is_bit_set(words, nbits, i) && is_bit_set(words, nbits, end); end++)
            ;
        if (!is_bit_set(words, nbits, i))
            continue;
        text_add(t, end == i + 1 ? "%s%u" : "%s%u-%u", comma, i, end - 1);
        comma = ",";
    }
}

void text_clear(struct text *t)
{
    struct text_chunk *next;

    for (struct text_chunk *c = t->first; c != NULL; c = next) {
        next = c->next;
        usermem_return(c->payer, sizeof *c);
        kmem_free(c);
    }
    *t = (struct text){0};
}

long text_read(const struct text *t, struct uio *uio, loff_t off)
{
    size_t before = uio->resid, skip = (size_t)off;
    int err = 0;

    for (struct text_chunk *c = t->first; c != NULL && uio->resid > 0 && err == 0; c = c->next) {
        if (skip >= c->used) {
            skip -= c->used;
            continue;
        }
        err = uio_move(c->data + skip, min_of(c->used - skip, uio->resid), uio);
        skip = 0;
    }
    return uio->resid < before ? (long)(before - uio->resid) : err;
}
