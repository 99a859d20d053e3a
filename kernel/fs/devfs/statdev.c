// SPDX-License-Identifier: MIT
/*
 * statdev.c - /dev/kstat and /dev/kmsg: the kernel's counters and its messages as files.
 *
 * THEORY      A read of /dev/kstat returns the registry of counters as text.  The text is made when the file
 *             is read from offset 0, so that all parts show the same moment.  Writing `module:instance:name`
 *             zeroes counters; the mode of the file permits this to root only.
 *             A read of /dev/kmsg returns the messages that are in the kernel's buffer, then end of file.  Only
 *             root can read this file.  A line that is written to it is printed as a message of the kernel.
 * LOCKING     snapshot.lock (sleeping) guards the text of one open file.
 * SEE ALSO    stat/kstat.h, stat/panic.h, user/cmd/kstat.c
 */
#include "vfs/file.h"
#include "vfs/pseudo.h"
#include "fs/devfs/statdev.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/kstat.h"
#include "stat/panic.h"

enum { KSTAT_FIRST = 8192, LOG_MAX = 1 << 18, LINE_MAX = 256 };

struct snapshot {
    struct mutex lock;
    struct text text;
    bool made;
    void (*make)(struct text *);
};

/*
 * Makes the text with one call, in a buffer that is doubled until the text fits.  The text cannot be made in
 * pieces, because a counter that has one more digit at the second call would shift the rest of the text.
 */
static void make_kstat_text(struct text *t)
{
    size_t size = KSTAT_FIRST, n = size;

    while (n == size && !t->failed) {
        char *buf = kmem_alloc(size *= 2);

        t->failed = buf == NULL;
        n = buf == NULL ? 0 : kstat_text(buf, size);
        if (n < size)
            text_bytes(t, buf, n);
        kmem_free(buf);
    }
}

static void make_kmsg_text(struct text *t)
{
    char *buf = kmem_alloc(LOG_MAX);

    t->failed = buf == NULL;
    if (buf != NULL)
        text_bytes(t, buf, klog_read(buf, LOG_MAX, true, false));
    kmem_free(buf);
}

static long snapshot_read(struct file *f, struct uio *uio, loff_t off)
{
    struct snapshot *s = f->data;
    long r;

    mutex_enter(&s->lock);
    if (off == 0 || !s->made) {
        text_clear(&s->text);
        s->make(&s->text);
        s->made = true;
    }
    r = s->text.failed ? -ENOMEM : text_read(&s->text, uio, off);
    mutex_exit(&s->lock);
    return r;
}

static void snapshot_close(struct file *f)
{
    struct snapshot *s = f->data;

    text_clear(&s->text);
    kmem_free(s);
}

/* Copies one line from the writer; a NUL replaces its newline.  Returns the bytes copied, or an error. */
static long copy_in_line(struct uio *uio, char line[LINE_MAX])
{
    size_t n = uio->resid;
    int err;

    if (n >= LINE_MAX)
        return -EINVAL;
    err = uio_move(line, n, uio);
    if (err != 0)
        return err;
    line[n] = '\0';
    if (n > 0 && line[n - 1] == '\n')
        line[n - 1] = '\0';
    return (long)n;
}

static long kstat_write(struct file *f, struct uio *uio, loff_t off)
{
    char line[LINE_MAX];
    long n = copy_in_line(uio, line);
    int err;

    if (n < 0)
        return n;
    err = kstat_clear(line);
    return err != 0 ? err : n;
}

static long kmsg_write(struct file *f, struct uio *uio, loff_t off)
{
    char line[LINE_MAX];
    long n = copy_in_line(uio, line);

    if (n > 0)
        kprintf("%s\n", line);
    return n;
}

static const struct fileops kstat_ops = {
    .read = snapshot_read,
    .write = kstat_write,
    .seek = file_text_seek,
    .close = snapshot_close,
};
static const struct fileops kmsg_ops = {
    .read = snapshot_read,
    .write = kmsg_write,
    .seek = file_text_seek,
    .close = snapshot_close,
};

static struct cdev devices[] = {
    {.name = "kstat", .rdev = makedev(10, 240), .mode = 0644},
    {.name = "kmsg", .rdev = makedev(1, 11), .mode = 0644},
};

static int statdev_open(struct vnode *vn, int oflags, struct file *f)
{
    bool kstat = vn->rdev == devices[0].rdev;
    struct snapshot *s;

    if (!kstat && (oflags & O_ACCMODE) != O_WRONLY && proc_cred()->euid != 0)
        return -EPERM;
    s = kmem_zalloc(sizeof *s);
    if (s == NULL)
        return -ENOMEM;
    mutex_init(&s->lock, SLEEP_STATDEV);
    s->make = kstat ? make_kstat_text : make_kmsg_text;
    f->ops = kstat ? &kstat_ops : &kmsg_ops;
    f->data = s;
    f->seekable = true;
    return 0;
}

void statdev_init(void)
{
    for (unsigned i = 0; i < array_size(devices); i++) {
        devices[i].open = statdev_open;
        cdev_register(&devices[i]);
    }
}
