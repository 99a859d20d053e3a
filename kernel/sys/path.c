// SPDX-License-Identifier: MIT
/*
 * path.c - path names and descriptors as system-call arguments.
 *
 * THEORY      A path name is copied to the kernel once, to a 4 KiB buffer, and every look-up uses this copy.
 *             The buffer comes from a cache.  If memory is short, the call waits for memory.  This is safe
 *             because the call holds no locks or references yet.
 * LOCKING     None.  The functions can sleep, because they read user memory.
 * SEE ALSO    path.h, kernel/vfs/vnode.h (name_lookup)
 */
#include "sys/path.h"

#include "lib/errno.h"
#include "mem/kmem.h"
#include "sys/sys.h"

static struct kmem_cache *path_cache;

void path_init(void)
{
    path_cache = kmem_cache_create("path", PATH_MAX, 0);
}

int path_alloc(char **out)
{
    *out = kmem_cache_alloc_wait(path_cache);
    return *out != NULL ? 0 : -ENOMEM;
}

int path_get(uint64_t uaddr, char **out)
{
    char *buf;
    long n;

    if (unlikely(path_alloc(&buf) != 0))
        return -ENOMEM;
    n = copy_in_str(buf, uaddr, PATH_MAX);
    if (unlikely(n < 0)) {
        kmem_cache_free(path_cache, buf);
        return (int)n;
    }
    *out = buf;
    return 0;
}

void path_put(char *path)
{
    kmem_cache_free(path_cache, path);
}

int at_begin(struct at_path *ap, int dirfd, uint64_t upath)
{
    int err = path_get(upath, &ap->path);

    if (err != 0)
        return err;
    ap->at = NULL;
    ap->file = NULL;
    if (dirfd != AT_FDCWD && ap->path[0] != '/') {
        ap->file = fd_get(curproc()->files, dirfd);
        if (ap->file == NULL)
            err = -EBADF;
        else if (ap->path[0] != '\0' && (ap->file->vn == NULL || ap->file->vn->type != VDIR))
            err = -ENOTDIR;
        else
            ap->at = ap->file->vn;
        if (err != 0) {
            if (ap->file != NULL)
                file_release(ap->file);
            path_put(ap->path);
            return err;
        }
    }
    fs_context(&ap->ctx);
    return 0;
}

void at_end(struct at_path *ap)
{
    fs_context_done(&ap->ctx);
    if (ap->file != NULL)
        file_release(ap->file);
    path_put(ap->path);
}

int at_vnode(int dirfd, uint64_t upath, bool empty_ok, bool nofollow, struct vnode **out)
{
    struct at_path ap;
    int err = at_begin(&ap, dirfd, upath);

    if (err != 0)
        return err;
    if (ap.path[0] == '\0' && empty_ok) {
        *out = ap.file != NULL ? ap.file->vn : ap.ctx.cwd;
        if (*out == NULL)
            err = -EINVAL; /* the file of the descriptor has no vnode (a pipe, for example) */
        else
            vn_hold(*out);
    } else {
        err = name_lookup(&ap.ctx, ap.at, ap.path, nofollow ? 0 : NAME_FOLLOW, out);
    }
    at_end(&ap);
    return err;
}
