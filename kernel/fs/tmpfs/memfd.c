// SPDX-License-Identifier: MIT
/*
 * memfd.c - files in memory without a name: memfd_create(2).
 *
 * THEORY      Such a file is a node of a tmpfs that is mounted nowhere, so that no directory entry leads to it.  It is
 *             freed with its last descriptor and mapping.  Like /dev/shm, this tmpfs holds at most an eighth of memory,
 *             of which a sixteenth is reserved for root.
 *             The name that the program gives is only shown, in /proc/PID/fd and /proc/PID/maps.  It is kept as the
 *             name of an entry of the root, with the addition that Linux shows.
 * LOCKING     that of tmpfs.c
 * SEE ALSO    tmpfs.c, memfd_create(2) of Linux's manual, user/test/t_linux.c
 */
#include "fs/tmpfs/tmpfs.h"

#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/page.h"
#include "stat/panic.h"
#include "vfs/filepriv.h"

static struct vfs *memfd_vfs; /* NULL: there was no memory for it at boot */
static struct vnodeops memfd_ops;

static int memfd_parent(struct vnode *vn, struct vnode **parent, char *buf, size_t size)
{
    size_t len = strlen(vn->data);

    if (size > 0 && len > size)
        return -ENAMETOOLONG;
    if (size > 0)
        memcpy(buf, vn->data, len);
    if (parent != NULL) {
        *parent = memfd_vfs->root;
        vn_hold(*parent);
    }
    return (int)len;
}

static void memfd_inactive(struct vnode *vn)
{
    kmem_free(vn->data);
    tmpfs_ops.inactive(vn);
}

int memfd_create(const char *name, struct file **out)
{
    size_t size = strlen(name) + sizeof "memfd: (deleted)";
    const struct cred *cr = proc_cred();
    struct tnode *t = NULL;
    char *shown;

    if (memfd_vfs == NULL)
        return -ENOMEM;
    shown = kmem_alloc(size);
    if (shown != NULL)
        t = tnode_create(memfd_vfs, VREG, 0777, cr->fsuid, cr->fsgid);
    if (t == NULL) {
        kmem_free(shown);
        return -ENOMEM;
    }
    snprintf(shown, size, "memfd:%s (deleted)", name);
    t->vn.data = shown;
    t->vn.op = &memfd_ops;
    t->vn.nlink = 0;
    return vnode_open(&t->vn, O_RDWR, out);
}

void memfd_init(void)
{
    char options[32];

    memfd_ops = tmpfs_ops;
    memfd_ops.parent = memfd_parent;
    memfd_ops.inactive = memfd_inactive;
    snprintf(options, sizeof options, "size=%luk", mem_total_pages() / 8 * (PAGE_SIZE / 1024));
    if (tmpfs_mount("memfd", options, 0, &memfd_vfs) != 0)
        warn("no memory for the files of memfd_create");
    else
        tmpfs_reserve_for_root(memfd_vfs);
}
