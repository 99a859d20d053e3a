// SPDX-License-Identifier: MIT
/*
 * procfs_mounts.c - /proc/N/mounts and /proc/N/mountinfo: the mounted file systems.
 *
 * All processes see the same mounts, with their paths from the real root.
 *
 * LOCKING     this file has no lock of its own
 * SEE ALSO    vfs/vfs.c, proc(5)
 */
#include "procfs/procfs.h"

/* Appends a field; the bytes that would end it are written in octal. */
static void add_mount_field(struct text *out, const char *s)
{
    text_escaped(out, s, " \t\n\\");
}

static const char *mount_source(const struct vfs *vfs)
{
    return vfs->source[0] != '\0' ? vfs->source : vfs->type;
}

static const char *mount_access(const struct vfs *vfs)
{
    return vfs->readonly ? "ro" : "rw";
}

/* Appends the options after "rw" or "ro" that belong to the mount, not to the file system. */
static void add_mount_flags(struct text *out, const struct vfs *vfs)
{
    unsigned flags = vfs->flags;

    text_add(out, "%s%s%s,%s", (flags & MS_NOSUID) != 0 ? ",nosuid" : "",
             (flags & MS_NODEV) != 0 ? ",nodev" : "", (flags & MS_NOEXEC) != 0 ? ",noexec" : "",
             (flags & MS_NOATIME) != 0 ? "noatime" : "relatime");
}

static const char *mount_sync(const struct vfs *vfs)
{
    return (vfs->flags & MS_SYNCHRONOUS) != 0 ? ",sync" : "";
}

static int show_mount_line(struct vfs *vfs, const char *path, void *arg)
{
    struct text *out = arg;

    add_mount_field(out, mount_source(vfs));
    text_str(out, " ");
    add_mount_field(out, path);
    text_add(out, " %s %s%s", vfs->type, mount_access(vfs), mount_sync(vfs));
    add_mount_flags(out, vfs);
    text_str(out, " 0 0\n");
    return 0;
}

PROCFS_SHOW(procfs_show_mounts)
{
    vfs_each(show_mount_line, out);
    return 0;
}

/* As on Linux, the root is its own parent. */
static int show_mountinfo_line(struct vfs *vfs, const char *path, void *arg)
{
    const struct vfs *parent = vfs->covered != NULL ? vfs->covered->vfs : vfs;
    struct text *out = arg;

    text_add(out, "%u %u %lu:%lu / ", vfs->id, parent->id, vfs->dev >> 8, vfs->dev & 0xff);
    add_mount_field(out, path);
    text_add(out, " %s", mount_access(vfs));
    add_mount_flags(out, vfs);
    text_add(out, " - %s ", vfs->type);
    add_mount_field(out, mount_source(vfs));
    text_add(out, " %s%s\n", mount_access(vfs), mount_sync(vfs));
    return 0;
}

PROCFS_SHOW(procfs_show_mountinfo)
{
    vfs_each(show_mountinfo_line, out);
    return 0;
}
