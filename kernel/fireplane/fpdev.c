// SPDX-License-Identifier: MIT
/*
 * fpdev.c - /dev/fireplane: the interconnect model's page, and the counters of LWPs.
 *
 * THEORY      mmap() of the device maps the memory that the model shares with the kernel ("the page").  This is
 *             an object whose pages are the device's own frames, all present from the start.  Each page has one
 *             reference in addition to that of the object, so no code moves or frees the page.  The
 *             device can be opened only for reading, so no mapping is writable.  The part from FP_PUBLIC_BYTES on is
 *             not part of the object, because the kernel uses it for pages of all users.
 * LOCKING     proc_lock, then the thread's lock
 * SEE ALSO    include/uapi/fireplane.h (layout, ioctl), stat/modelled.h,
 *             user/lib/fireplane.c, docs/devices.md
 */
#include "fireplane/fpdev.h"

#include "lib/errno.h"
#include "mem/page.h"
#include "proc/proc.h"
#include "procfs/procfs.h"
#include "stat/modelled.h"
#include "stat/panic.h"
#include "x86/uaccess.h"

static struct vm_object page_object;

/* The LWP of p with the lowest lwpid that is >= `lwpid`, or NULL.  The caller holds proc_lock. */
static struct lwp *find_next_lwp(struct proc *p, int lwpid)
{
    struct lwp *l, *best = NULL;

    LIST_FOREACH (l, &p->lwps, proc_link)
        if (l->lwpid >= lwpid && (best == NULL || l->lwpid < best->lwpid))
            best = l;
    return best;
}

/*
 * Fill in `q` for the process q->pid (0: the caller's) and its LWP with the lowest id that is >= q->lwpid.
 * 0, -ESRCH, -EACCES.
 */
static int read_lwp_counts(struct fp_lwp *q)
{
    struct proc *p;
    struct lwp *l;
    int err = -ESRCH;

    spin_lock(&proc_lock);
    p = q->pid == 0 ? curproc() : proc_find(q->pid);
    if (p != NULL && !proc_may_inspect(p)) {
        err = -EACCES;
    } else if (p != NULL) {
        l = find_next_lwp(p, q->lwpid);
        err = l == NULL || l->t.modelled == NULL ? -ESRCH : 0;
    }
    if (err == 0) {
        spin_lock(&l->t.lock);
        q->time_ps = modelled_read(l->t.modelled, &q->used);
        spin_unlock(&l->t.lock);
        q->pid = p->pid;
        q->lwpid = l->lwpid;
    }
    spin_unlock(&proc_lock);
    return err;
}

static long fpdev_ioctl(struct file *f, unsigned cmd, uint64_t arg)
{
    struct fp_lwp q;
    int err;

    if (cmd != FPIOC_LWP)
        return -ENOTTY;
    err = copy_in(&q, arg, sizeof q);
    if (err == 0)
        err = read_lwp_counts(&q);
    return err != 0 ? err : copy_out(arg, &q, sizeof q);
}

static int fpdev_open(struct vnode *vn, int oflags, struct file *f)
{
    if (modelled_page == NULL)
        return -ENODEV;
    return (oflags & O_ACCMODE) == O_RDONLY ? 0 : -EACCES;
}

void fpdev_init(void)
{
    static const struct fileops ops = {.ioctl = fpdev_ioctl, .object = &page_object};
    static struct cdev dev = {
        .name = "fireplane",
        .rdev = makedev(10, 242),
        .mode = 0444,
        .open = fpdev_open,
        .ops = &ops,
    };

    object_init_vnode(&page_object, NULL, NULL);
    page_object.size_pages = modelled_page == NULL ? 0 : FP_PUBLIC_BYTES >> PAGE_SHIFT;
    for (uint64_t i = 0; i < page_object.size_pages; i++) {
        struct page *pg = virt_to_page((char *)modelled_page + (i << PAGE_SHIFT));

        page_hold(pg);
        pg->flags = PG_UPTODATE;
        pg->obj = &page_object;
        pg->index = i;
        if (radix_insert(&page_object.tree, i, pg) != 0)
            panic("no memory for /dev/fireplane");
        page_object.npages++;
    }
    cdev_register(&dev);
}
