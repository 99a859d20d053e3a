// SPDX-License-Identifier: MIT
/*
 * cpio.c - the members of a cpio archive, one after the other.
 *
 * THEORY      A cpio archive is one file that contains many files.  The initramfs has this format.  A member is
 *             one of these files.  It consists of a magic number of 6 characters, 13 hexadecimal numbers of 8
 *             digits, a name with its NUL, and the data.  Name and data are each padded to a multiple of 4 bytes.
 *             A member with the name TRAILER!!! ends an archive.  Another archive can follow after zero bytes
 *             (several archives in one file); the members of that archive are also returned.
 *             Every field is checked before it is used, because the archive comes from outside the kernel.
 * INVARIANTS  I1  nothing outside buf[0 .. len-1] is read
 *             I2  each call that returns 1 moves *pos forward
 * LOCKING     None: these functions keep no state.
 * SEE ALSO    initramfs.c; tests/host/test_cpio.c, which also fuzzes cpio_next()
 */
#include "fs/initramfs/initramfs.h"

#include "lib/errno.h"
#include "lib/string.h"

#define HEADER_SIZE 110
#define NFIELDS     13
#define NAME_MAX    4096
#define COMPONENT   255

enum {
    F_INO,
    F_MODE,
    F_UID,
    F_GID,
    F_NLINK,
    F_MTIME,
    F_SIZE,
    F_DEVMA,
    F_DEVMI,
    F_RDEVMA,
    F_RDEVMI,
    F_NAMESIZE
};

static bool parse_hex8(const uint8_t *s, uint32_t *out)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < 8; i++) {
        unsigned c = s[i], d = c - '0';

        if (d > 9) {
            d = (c | 0x20) - 'a' + 10;
            if (d < 10 || d > 15)
                return false;
        }
        v = v << 4 | d;
    }
    *out = v;
    return true;
}

/*
 * Whether the name stays inside the root: it has no empty, "." or ".." component.  The name ".", which means the
 * root, is allowed.
 */
static bool is_safe_name(const char *name, size_t len)
{
    size_t start = 0;

    if (len == 0 || len >= NAME_MAX || memchr(name, '\0', len) != NULL)
        return false;
    if (len == 1 && name[0] == '.')
        return true;
    for (size_t i = 0; i <= len; i++) {
        if (i != len && name[i] != '/')
            continue;
        size_t n = i - start;

        if (n == 0 || n > COMPONENT)
            return false;
        if (name[start] == '.' && (n == 1 || (n == 2 && name[start + 1] == '.')))
            return false;
        start = i + 1;
    }
    return true;
}

static int reject_archive(const char **why, const char *reason)
{
    *why = reason;
    return -EINVAL;
}

int cpio_next(const uint8_t *buf, size_t len, size_t *pos, struct cpio_entry *e, const char **why)
{
    for (;;) {
        uint32_t f[NFIELDS];
        const uint8_t *h;
        size_t namesize, data;

        while (*pos < len && buf[*pos] == 0) /* padding between archives */
            ++*pos;
        if (*pos == len)
            return 0;
        if (len - *pos < HEADER_SIZE)
            return reject_archive(why, "header cut off");
        h = buf + *pos;
        if (memcmp(h, "07070", 5) != 0 || (h[5] != '1' && h[5] != '2'))
            return reject_archive(why, "no cpio header");
        for (unsigned i = 0; i < NFIELDS; i++)
            if (!parse_hex8(h + 6 + 8 * i, &f[i]))
                return reject_archive(why, "bad number in a header");
        namesize = f[F_NAMESIZE];
        if (namesize == 0 || namesize > NAME_MAX || len - *pos - HEADER_SIZE < namesize)
            return reject_archive(why, "bad length of a name");
        if (h[HEADER_SIZE + namesize - 1] != '\0')
            return reject_archive(why, "name without an end");
        data = round_up(*pos + HEADER_SIZE + namesize, (size_t)4);
        if (f[F_SIZE] != 0 && (data > len || len - data < f[F_SIZE]))
            return reject_archive(why, "data cut off");
        *pos = min_of(round_up(data + f[F_SIZE], (size_t)4), len);
        if (namesize == 11 && memcmp(h + HEADER_SIZE, "TRAILER!!!", 10) == 0)
            continue;

        *e = (struct cpio_entry){
            .name = (const char *)h + HEADER_SIZE,
            .nlen = namesize - 1,
            .data = buf + data,
            .size = f[F_SIZE],
            .mode = f[F_MODE],
            .uid = f[F_UID],
            .gid = f[F_GID],
            .nlink = f[F_NLINK],
            .mtime = f[F_MTIME],
            .ino = f[F_INO],
            .dev_major = f[F_DEVMA],
            .dev_minor = f[F_DEVMI],
            .rdev_major = f[F_RDEVMA],
            .rdev_minor = f[F_RDEVMI],
        };
        while (e->nlen > 1 && (e->name[0] == '/' || (e->name[0] == '.' && e->name[1] == '/'))) {
            size_t skip = e->name[0] == '/' ? 1 : 2;

            e->name += skip;
            e->nlen -= skip;
        }
        if (!is_safe_name(e->name, e->nlen))
            return reject_archive(why, "name that leads elsewhere");
        return 1;
    }
}
