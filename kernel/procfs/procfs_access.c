// SPDX-License-Identifier: MIT
/*
 * procfs_access.c - /proc/PID/mem: the memory of a process as a file, for debuggers.
 *
 * THEORY      The position in the file is the address.  The right to read and write is checked when the file is opened,
 *             as for ptrace(2).  The open file belongs to the program that ran then: after exec it reads as empty.
 *             Otherwise a program could open its own memory and pass the descriptor to a set-user-id program, which
 *             then writes to its own memory when it prints a message.
 *             A write to memory that the process cannot write changes a private copy of the page, as with
 *             PTRACE_POKEDATA.
 * LOCKING     proc_lock to find the process, p->mutex to take its address space
 * SEE ALSO    proc/ptrace.h; proc(5)
 */
#include "lib/errno.h"
#include "lib/number.h"
#include "mem/kmem.h"
#include "proc/ptrace.h"
#include "procfs/procfs.h"
#include "x86/uaccess.h"

struct mem_file {
    uint64_t pid, image;
};

/* The number of the program that p runs.  The caller holds p->mutex. */
static uint64_t program_number(struct proc *p)
{
    static _Atomic uint64_t last;

    return number_at(&p->image, &last);
}

/* The address space to which the file belongs, with a reference; NULL: it does not exist any more. */
static struct as *hold_file_as(const struct mem_file *m)
{
    struct proc *p = procfs_hold(m->pid);
    struct as *as = NULL;

    if (p == NULL)
        return NULL;
    mutex_enter(&p->mutex);
    if (p->as != NULL && program_number(p) == m->image) {
        as = p->as;
        as_hold(as);
    }
    mutex_exit(&p->mutex);
    proc_release(p);
    return as;
}

/* Move the bytes of one uio.  Returns their number; -EIO: not even one can be accessed. */
static long move_memory(struct file *f, struct uio *uio, loff_t off, bool write)
{
    struct as *as = hold_file_as(f->data);
    uint64_t at = (uint64_t)off;
    enum as_access how = write ? ACCESS_FORCE : ACCESS_READ;
    long done = 0, got;
    int err = 0;
    char *buf;

    if (as == NULL)
        return 0;
    buf = kmem_alloc(PAGE_SIZE);
    while (buf != NULL && err == 0 && uio->resid > 0 && !signal_pending()) {
        size_t n = min_of(uio->resid, (size_t)(PAGE_SIZE - at % PAGE_SIZE));

        if (write)
            err = uio_move(buf, n, uio);
        got = err == 0 ? as_access_remote(as, at, buf, n, how) : 0;
        if (err == 0 && got > 0 && !write)
            err = uio_move(buf, (size_t)got, uio);
        if (err == 0)
            done += got;
        if (err == 0 && got != (long)n)
            err = -EIO;
        at += n;
    }
    kmem_free(buf);
    as_release(as);
    if (buf == NULL)
        err = -ENOMEM;
    else if (done == 0 && err == 0 && uio->resid > 0)
        err = -ERESTARTSYS;
    return done > 0 ? done : err;
}

static long read_memory_file(struct file *f, struct uio *uio, loff_t off)
{
    return move_memory(f, uio, off, false);
}

static long write_memory_file(struct file *f, struct uio *uio, loff_t off)
{
    return move_memory(f, uio, off, true);
}

static loff_t seek_memory_file(struct file *f, loff_t off, int whence)
{
    enum { SEEK_SET, SEEK_CUR };

    if (whence == SEEK_CUR)
        off = (loff_t)((uint64_t)f->off + (uint64_t)off);
    return whence == SEEK_SET || whence == SEEK_CUR ? off : -EINVAL;
}

static void close_memory_file(struct file *f)
{
    kmem_free(f->data);
}

static const struct fileops memory_fileops = {
    .read = read_memory_file,
    .write = write_memory_file,
    .seek = seek_memory_file,
    .close = close_memory_file,
};

/* Whether the caller may open the memory of p.  The caller holds proc_lock. */
static bool may_open_memory(struct proc *p)
{
    const struct cred *cr = curcred();

    return p == curproc() ||
           (!list_empty(&p->lwps) && ptrace_permitted(cr, cr->fsuid, cr->fsgid,
                                                      list_first(&p->lwps, struct lwp, proc_link)));
}

int procfs_open_mem(const struct pseudo_node *n, struct pseudo_arg arg, struct file *f)
{
    struct mem_file *m = kmem_alloc(sizeof *m);
    struct proc *p;
    int err = 0;

    (void)n;
    if (m == NULL)
        return -ENOMEM;
    p = procfs_hold(arg.a);
    if (p == NULL) {
        kmem_free(m);
        return -ESRCH;
    }
    mutex_enter(&p->mutex); /* so that the check is about the program whose number is taken */
    spin_lock(&proc_lock);
    if (!may_open_memory(p))
        err = -EACCES;
    spin_unlock(&proc_lock);
    *m = (struct mem_file){arg.a, program_number(p)};
    mutex_exit(&p->mutex);
    proc_release(p);
    if (err != 0) {
        kmem_free(m);
        return err;
    }
    f->ops = &memory_fileops;
    f->data = m;
    f->seekable = true;
    return 0;
}
