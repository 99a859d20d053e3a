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
static inline size_t copy_uio_piece(void *kbuf, uint64_t base, size_t n, const struct uio *uio)
{
    void *to = uio->dir == UIO_READ ? (void *)base : kbuf;
    const void *from = uio->dir == UIO_READ ? kbuf : (const void *)base;

    if (likely(uio->user))
        return is_user_range(base, n) ? user_copy(to, from, n) : n;
    memcpy(to, from, n);
    return 0;
}

/* Moves n bytes to or from the first iovec, which has that many left.  0 or -EFAULT. */
static inline int move_within_iovec(void *kbuf, size_t n, struct uio *uio)
{
    size_t left = copy_uio_piece(kbuf, uio->iov->base + uio->skip, n, uio);

    uio->skip += n - left;
    uio->resid -= n - left;
    return unlikely(left != 0) ? -EFAULT : 0;
}

static __attribute__((noinline)) int move_across_iovecs(char *k, size_t n, struct uio *uio)
{
    for (;;) {
        size_t piece = min_of(n, uio->iov->len - uio->skip);
        int err = move_within_iovec(k, piece, uio);

        n -= piece;
        if (err != 0 || n == 0)
            return err;
        k += piece;
        uio->iov++;
        uio->niov--;
        uio->skip = 0;
    }
}

int uio_move(void *kbuf, size_t n, struct uio *uio)
{
    n = min_of(n, uio->resid);
    if (unlikely(n == 0))
        return 0;
    if (likely(n <= uio->iov->len - uio->skip))
        return move_within_iovec(kbuf, n, uio);
    return move_across_iovecs(kbuf, n, uio);
}

void uio_init_kernel(struct uio *uio, struct iovec *one, void *buf, size_t n, enum uio_dir dir)
{
    *one = (struct iovec){.base = (uint64_t)buf, .len = n};
    *uio = (struct uio){.iov = one, .niov = 1, .resid = n, .dir = dir};
}
