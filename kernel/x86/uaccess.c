// SPDX-License-Identifier: MIT
/*
 * uaccess.c - see uaccess.h.
 */
#include "x86/uaccess.h"

#include "lib/errno.h"
#include "lib/string.h"

size_t user_copy(void *dst, const void *src, size_t n);
long user_strncpy(char *dst, const char *src, size_t n);
int user_get32(uint32_t *dst, const uint32_t *src);
int user_put32(uint32_t *dst, uint32_t val);
int user_cas32(uint32_t *p, uint32_t expect, uint32_t val, uint32_t *old);

/* Whether all n bytes lie below USER_TOP; does not check whether they are mapped. */
static bool is_user_range(uint64_t uaddr, size_t n)
{
    return n <= USER_TOP && uaddr <= USER_TOP - n;
}

int copy_in(void *dst, uint64_t uaddr, size_t n)
{
    if (!is_user_range(uaddr, n))
        return -EFAULT;
    return user_copy(dst, (const void *)uaddr, n) != 0 ? -EFAULT : 0;
}

int copy_out(uint64_t uaddr, const void *src, size_t n)
{
    if (!is_user_range(uaddr, n))
        return -EFAULT;
    return user_copy((void *)uaddr, src, n) != 0 ? -EFAULT : 0;
}

long copy_in_str(char *dst, uint64_t uaddr, size_t size)
{
    size_t max = size;
    long n;

    if (uaddr >= USER_TOP)
        return -EFAULT;
    if (max > USER_TOP - uaddr)
        max = USER_TOP - uaddr;
    n = user_strncpy(dst, (const char *)uaddr, max);
    if (n < 0)
        return -EFAULT;
    if ((size_t)n == max)
        return max < size ? -EFAULT : -ENAMETOOLONG;
    return n;
}

int user_load32(uint64_t uaddr, uint32_t *val)
{
    return is_user_range(uaddr, 4) ? user_get32(val, (const uint32_t *)uaddr) : -EFAULT;
}

int user_store32(uint64_t uaddr, uint32_t val)
{
    return is_user_range(uaddr, 4) ? user_put32((uint32_t *)uaddr, val) : -EFAULT;
}

int user_cmpxchg32(uint64_t uaddr, uint32_t expect, uint32_t val, uint32_t *old)
{
    return is_user_range(uaddr, 4) ? user_cas32((uint32_t *)uaddr, expect, val, old) : -EFAULT;
}

/* Copies n bytes of one iovec, in uio's direction.  Returns the number of bytes not copied. */
static size_t copy_uio_piece(void *kbuf, uint64_t base, size_t n, const struct uio *uio)
{
    if (!uio->user) {
        if (uio->dir == UIO_READ)
            memcpy((void *)base, kbuf, n);
        else
            memcpy(kbuf, (const void *)base, n);
        return 0;
    }
    if (!is_user_range(base, n))
        return n;
    return uio->dir == UIO_READ ? user_copy((void *)base, kbuf, n)
                                : user_copy(kbuf, (const void *)base, n);
}

int uio_move(void *kbuf, size_t n, struct uio *uio)
{
    char *k = kbuf;

    if (n > uio->resid)
        n = uio->resid;
    while (n > 0) {
        size_t piece = min_of(n, uio->iov->len - uio->skip), done;

        if (piece == 0) {
            uio->iov++;
            uio->niov--;
            uio->skip = 0;
            continue;
        }
        done = piece - copy_uio_piece(k, uio->iov->base + uio->skip, piece, uio);
        k += done;
        uio->skip += done;
        uio->resid -= done;
        n -= done;
        if (done < piece)
            return -EFAULT;
    }
    return 0;
}

void uio_init_kernel(struct uio *uio, struct iovec *one, void *buf, size_t n, enum uio_dir dir)
{
    *one = (struct iovec){.base = (uint64_t)buf, .len = n};
    *uio = (struct uio){.iov = one, .niov = 1, .resid = n, .dir = dir};
}
