// SPDX-License-Identifier: MIT
/*
 * sys_swap.c - swapon(2), swapoff(2).
 *
 * THEORY      A swap area is a disk or a file.  For a file, the kernel asks the file system once for the disk
 *             address of each page (bmap), so that paging out needs no file system.  A file with a hole is refused.
 * SEE ALSO    kernel/pages/swap.c, docs/pageout.md
 */
#include "blk/blk.h"
#include "lib/errno.h"
#include "mem/kmem.h"
#include "sys/path.h"
#include "sys/sys.h"
#include "pages/reserve.h"
#include "pages/swap.h"

/*
 * Fills in the disk and the sector of each page of a file, and removes the file from the page cache.  0;
 * -EINVAL: the file system has no bmap, or the file has a hole; -ENOMEM, -EIO.
 */
static int map_swap_file_blocks(struct vnode *vn, struct swap_new *n)
{
    int err = 0;

    if (vn->op->bmap == NULL)
        return -EINVAL;
    err = vn_fsync(vn, false);
    if (err != 0)
        return err;
    object_punch(&vn->obj, 0, UINT64_MAX);
    n->pages = vn->size >> PAGE_SHIFT;
    n->sector = kmem_alloc(max_of(n->pages, 1ul) * sizeof *n->sector);
    if (n->sector == NULL)
        return -ENOMEM;
    for (uint64_t i = 0; i < n->pages && err == 0; i++)
        err = vn->op->bmap(vn, i, &n->disk, &n->sector[i]);
    return err == -ENOENT ? -EINVAL : err;
}

/* Adds the disk or file `vn` as a swap area.  Programs cannot write the file until swapoff(). */
static int add_swap_area(struct vnode *vn, const char *name)
{
    struct swap_new n = {.vn = vn, .name = name};
    int err = 0;

    if (vn->type == VBLK) {
        n.disk = disk_by_dev(vn->rdev);
        if (n.disk == NULL || disk_readonly(n.disk))
            return n.disk == NULL ? -ENODEV : -EROFS;
        n.pages = disk_sectors(n.disk) / (PAGE_SIZE / SECTOR_SIZE);
    } else if (vn->type != VREG) {
        return -EINVAL;
    } else {
        err = vn_deny_write(vn); /* from now on only swapping writes to the blocks of the file */
        if (err != 0)
            return err;
        err = map_swap_file_blocks(vn, &n);
    }
    if (err == 0)
        err = swap_add(&n);
    if (err != 0) {
        kmem_free(n.sector);
        if (vn->type == VREG)
            vn_allow_write(vn);
    }
    return err;
}

static long swap_on_or_off(struct regs *r, bool on)
{
    struct vnode *vn;
    char *path;
    int err;

    if (!cred_superuser(curcred()))
        return -EPERM;
    err = path_get(r->arg[0], &path);
    if (err != 0)
        return err;
    err = at_vnode(AT_FDCWD, r->arg[0], false, false, &vn);
    if (err == 0) {
        err = on ? add_swap_area(vn, path) : swap_remove(vn);
        if (err == 0 && !on && vn->type == VREG)
            vn_allow_write(vn);
        vn_release(vn);
        reserve_recount();
    }
    path_put(path);
    return err;
}

long sys_swapon(struct regs *r)
{
    return swap_on_or_off(r, true);
}

long sys_swapoff(struct regs *r)
{
    return swap_on_or_off(r, false);
}
