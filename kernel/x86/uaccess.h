// SPDX-License-Identifier: MIT
/*
 * uaccess.h - moving bytes between a program's memory and the kernel's.
 *
 * THEORY      The only code that dereferences user addresses.  A fault in it is resolved like the program's own or
 *             ends the move with -EFAULT (exception table).  Only kernel/sys and signal delivery hold raw user
 *             addresses (uint64_t, never pointers); lower rooms see a struct uio, which they can only drain or fill.
 * LOCKING     May sleep (a page fault): no spin lock may be held.
 */
#ifndef X86_UACCESS_H
#define X86_UACCESS_H

#include "lib/types.h"

#define USER_TOP 0x7ffffffff000ul /* first address that is not a program's */

/* copy_in, copy_out - whole or -EFAULT. */
int copy_in(void *dst, uint64_t uaddr, size_t n);
int copy_out(uint64_t uaddr, const void *src, size_t n);
/* copy_in_str - a NUL-ended string into dst[size].  Returns its length, -EFAULT, or -ENAMETOOLONG. */
long copy_in_str(char *dst, uint64_t uaddr, size_t size);
/* user_load32, user_cmpxchg32 - one aligned word (futexes).  -EFAULT; cmpxchg gives the old value in *old. */
int user_load32(uint64_t uaddr, uint32_t *val);
int user_store32(uint64_t uaddr, uint32_t val);
int user_cmpxchg32(uint64_t uaddr, uint32_t expect, uint32_t val, uint32_t *old);

struct iovec {
    uint64_t base; /* user address, or kernel pointer when !uio->user */
    uint64_t len;
};

enum uio_dir { UIO_READ, UIO_WRITE }; /* READ: kernel -> buffer; WRITE: buffer -> kernel */

struct uio {
    const struct iovec *iov;
    unsigned niov;
    size_t skip;  /* bytes done of iov[0]          */
    size_t resid; /* bytes left in all             */
    enum uio_dir dir;
    bool user;
    bool no_sigpipe;      /* a write without a reader fails, and sends no signal */
    uint8_t advice;       /* enum read_advice (pages/cluster.h), of the open file */
    struct readahead *ra; /* likewise, its place; NULL: there is no open file  */
};

/*
 * uio_move - move up to n bytes between kbuf and the uio, in its direction.  0, or -EFAULT; uio->resid tells how far it
 * got.  uio_init_kernel makes a one-piece uio over kernel memory; `one` must live as long as the uio.
 */
int uio_move(void *kbuf, size_t n, struct uio *uio);
void uio_init_kernel(struct uio *uio, struct iovec *one, void *buf, size_t n, enum uio_dir dir);

#endif
