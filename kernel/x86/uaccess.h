// SPDX-License-Identifier: MIT
/*
 * uaccess.h - copies bytes between a program's memory and the kernel's.
 *
 * THEORY      An address that a program passes to the kernel may be wrong, or its page may not be in memory.
 *             So only the functions of this file dereference user addresses.  A page fault in them is resolved
 *             like a fault of the program; if that fails, the exception table ends the copy with -EFAULT.  User
 *             addresses are uint64_t, never pointers.  Only system calls, ioctls and signal delivery use user
 *             addresses.  Lower layers get a struct uio, from which they can only read or to which they can
 *             only write.
 * LOCKING     All functions can sleep (in a page fault), so the caller must not hold a spin lock.
 */
#ifndef X86_UACCESS_H
#define X86_UACCESS_H

#include "lib/types.h"

#define USER_TOP 0x7ffffffff000ul /* first address above all user addresses */

/* copy_in, copy_out - copy n bytes from or to user memory.  Return 0, or -EFAULT after part of the copy. */
int copy_in(void *dst, uint64_t uaddr, size_t n);
int copy_out(uint64_t uaddr, const void *src, size_t n);
/*
 * copy_in_str - copy a NUL-terminated string into dst[size].  Returns its length without the NUL; -EFAULT;
 * -ENAMETOOLONG: the string does not fit.
 */
long copy_in_str(char *dst, uint64_t uaddr, size_t size);
/*
 * user_load32, user_store32, user_cmpxchg32 - atomic access to one aligned 32-bit word (futexes).  Return 0
 * or -EFAULT.  user_cmpxchg32 stores `val` if the word is `expect`; *old becomes the old value of the word.
 */
int user_load32(uint64_t uaddr, uint32_t *val);
int user_store32(uint64_t uaddr, uint32_t val);
int user_cmpxchg32(uint64_t uaddr, uint32_t expect, uint32_t val, uint32_t *old);

struct iovec {
    uint64_t base; /* user address, or kernel pointer when !uio->user */
    uint64_t len;
};

/* As in read(2) and write(2).  READ: from the kernel to the iovecs; WRITE: from the iovecs to the kernel. */
enum uio_dir { UIO_READ, UIO_WRITE };

/* The caller's memory of one read or write, and how much of that memory was already copied. */
struct uio {
    const struct iovec *iov; /* the first iovec that is not complete */
    unsigned niov;           /* number of iovecs from `iov` on */
    size_t skip;             /* bytes of iov[0] already copied */
    size_t resid;            /* bytes still to copy, in all iovecs */
    enum uio_dir dir;
    bool user;            /* iovec bases are user addresses */
    bool no_sigpipe;      /* a write without a reader fails, but sends no SIGPIPE */
    uint8_t advice;       /* enum read_advice (pages/cluster.h) of the open file */
    struct readahead *ra; /* readahead state of the open file; NULL: there is no file */
};

/*
 * uio_move - move n bytes, or uio->resid if that is less, between kbuf and the uio in its direction.
 * Returns 0 or -EFAULT; uio->resid is reduced by the bytes moved, even after -EFAULT.
 * uio_init_kernel - make a uio of one piece for n bytes of kernel memory.  `one` must exist as long as the uio.
 */
int uio_move(void *kbuf, size_t n, struct uio *uio);
void uio_init_kernel(struct uio *uio, struct iovec *one, void *buf, size_t n, enum uio_dir dir);

#endif
