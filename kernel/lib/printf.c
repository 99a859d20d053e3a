// SPDX-License-Identifier: MIT
/*
 * printf.c - see printf.h.
 */
#include "lib/printf.h"

#include "lib/string.h"
#include "lib/types.h"

/* The output so far.  `len` counts all characters, including those that did not fit into buf[size]. */
struct out {
    char *buf;
    size_t size, len;
};

/* One conversion specification, such as %-08lx.  The flags are `-`, `0`, `+`, blank and `#`. */
struct spec {
    bool left, zero, plus, space, alt;
    unsigned width;
    int prec;    /* negative: none */
    char length; /* 0, 'h', 'H' (hh), 'l' (l, ll, z, j, t) */
};

static void put_char(struct out *o, char c)
{
    if (o->len + 1 < o->size)
        o->buf[o->len] = c;
    o->len++;
}

static void put_padding(struct out *o, char c, size_t n)
{
    while (n-- > 0)
        put_char(o, c);
}

static void put_field(struct out *o, const struct spec *s, const char *text, size_t n)
{
    size_t fill = s->width > n ? s->width - n : 0;

    if (!s->left)
        put_padding(o, ' ', fill);
    for (size_t i = 0; i < n; i++)
        put_char(o, text[i]);
    if (s->left)
        put_padding(o, ' ', fill);
}

static void put_number(struct out *o, const struct spec *s, uint64_t v, unsigned base, bool upper,
                       const char *sign)
{
    char digits[24];
    size_t n = 0, least = s->prec < 0 ? 1 : (size_t)s->prec, zeros, total;
    uint64_t x = v;

    while (x != 0) {
        digits[n++] = (upper ? "0123456789ABCDEF" : "0123456789abcdef")[x % base];
        x /= base;
    }
    if (s->alt && base == 16 && v != 0)
        sign = upper ? "0X" : "0x";
    else if (s->alt && base == 8)
        least = max_of(least, n + 1);
    zeros = n < least ? least - n : 0;
    total = strlen(sign) + zeros + n;
    if (s->zero && !s->left && s->prec < 0 && total < s->width) {
        zeros += s->width - total;
        total = s->width;
    }
    if (!s->left)
        put_padding(o, ' ', s->width > total ? s->width - total : 0);
    while (*sign != '\0')
        put_char(o, *sign++);
    put_padding(o, '0', zeros);
    while (n > 0)
        put_char(o, digits[--n]);
    if (s->left)
        put_padding(o, ' ', s->width > total ? s->width - total : 0);
}

/* Parses a specification after its `%`.  Returns the address of its conversion character. */
static const char *parse_spec(const char *f, struct spec *s, va_list *ap)
{
    *s = (struct spec){.prec = -1};
    for (;; f++) {
        if (*f == '-')
            s->left = true;
        else if (*f == '0')
            s->zero = true;
        else if (*f == '+')
            s->plus = true;
        else if (*f == ' ')
            s->space = true;
        else if (*f == '#')
            s->alt = true;
        else
            break;
    }
    if (*f == '*') {
        int w = va_arg(*ap, int);

        s->left |= w < 0;
        s->width = (unsigned)(w < 0 ? -w : w);
        f++;
    }
    for (; *f >= '0' && *f <= '9'; f++)
        s->width = s->width * 10 + (unsigned)(*f - '0');
    if (*f == '.') {
        s->prec = 0;
        if (*++f == '*') {
            s->prec = va_arg(*ap, int);
            f++;
        }
        for (; *f >= '0' && *f <= '9'; f++)
            s->prec = s->prec * 10 + (*f - '0');
    }
    for (;; f++) {
        if (*f == 'h')
            s->length = s->length == 'h' ? 'H' : 'h';
        else if (*f == 'l' || *f == 'z' || *f == 'j' || *f == 't')
            s->length = 'l';
        else
            return f;
    }
}

static const char *sign_of_number(const struct spec *s, int64_t v)
{
    if (v < 0)
        return "-";
    if (s->plus)
        return "+";
    return s->space ? " " : "";
}

static void put_signed(struct out *o, const struct spec *s, va_list *ap)
{
    int64_t v = s->length == 'l' ? va_arg(*ap, long) : va_arg(*ap, int);

    if (s->length == 'h')
        v = (short)v;
    else if (s->length == 'H')
        v = (signed char)v;
    put_number(o, s, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10, false, sign_of_number(s, v));
}

static unsigned base_of_conversion(char conv)
{
    if (conv == 'o')
        return 8;
    return conv == 'u' ? 10 : 16;
}

static void put_unsigned(struct out *o, const struct spec *s, char conv, va_list *ap)
{
    uint64_t v = s->length == 'l' ? va_arg(*ap, unsigned long) : va_arg(*ap, unsigned);

    if (s->length == 'h')
        v = (uint16_t)v;
    else if (s->length == 'H')
        v = (uint8_t)v;
    put_number(o, s, v, base_of_conversion(conv), conv == 'X', "");
}

int vsnprintf(char *buf, size_t size, const char *fmt, va_list args)
{
    struct out o = {buf, size, 0};
    va_list ap;

    va_copy(ap, args);
    for (const char *f = fmt; *f != '\0'; f++) {
        struct spec s;
        const char *str;
        char c;

        if (*f != '%') {
            put_char(&o, *f);
            continue;
        }
        f = parse_spec(f + 1, &s, &ap);
        switch (*f) {
        case 'd':
        case 'i':
            put_signed(&o, &s, &ap);
            break;
        case 'u':
        case 'x':
        case 'X':
        case 'o':
            put_unsigned(&o, &s, *f, &ap);
            break;
        case 'p':
            s.alt = true;
            put_number(&o, &s, (uint64_t)va_arg(ap, void *), 16, false, "");
            break;
        case 'c':
            c = (char)va_arg(ap, int);
            put_field(&o, &s, &c, 1);
            break;
        case 's':
            str = va_arg(ap, const char *);
            if (str == NULL)
                str = "(null)";
            put_field(&o, &s, str, strnlen(str, s.prec < 0 ? SIZE_MAX : (size_t)s.prec));
            break;
        case '\0':
            f--;
            break;
        default:
            put_char(&o, *f);
        }
    }
    va_end(ap);
    if (size > 0)
        buf[o.len < size ? o.len : size - 1] = '\0';
    return (int)o.len;
}

int snprintf(char *buf, size_t size, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(buf, size, fmt, ap);
    va_end(ap);
    return n;
}
