// SPDX-License-Identifier: MIT
/*
 * iostat.c - the statistics of a disk: Solaris's kstat_io, and further counters.
 *
 * THEORY      How busy is a disk, and how long do requests wait for it?  Two sums for each queue answer this.
 *             The length of a queue is constant between two changes.  So each change adds (length * time
 *             since the last change) to one sum, and adds only the time to the other sum if the
 *             queue was not empty (kstat_waitq_enter(9F) and its relatives).
 *             From two readings, iostat computes the mean length of each queue, the share of the time in which
 *             the queue was not empty and, by Little's law, the mean time that a request spends in the queue.
 *             There are also counts of errors, which `iostat -e` prints, and sums of the time from submission
 *             to the end of a request.
 * SEE ALSO    user/cmd/iostat.c, kernel/procfs/procfs_disk.c
 */
#include "blk/blkpriv.h"

#include "lib/printf.h"
#include "lib/string.h"

static void kstat_waitq_update(struct io_stats *s, uint64_t now)
{
    uint64_t t = now - s->wlastupdate;

    s->wlastupdate = now;
    s->wlentime += t * s->wcnt;
    s->wtime += s->wcnt > 0 ? t : 0;
}

static void kstat_runq_update(struct io_stats *s, uint64_t now)
{
    uint64_t t = now - s->rlastupdate;

    s->rlastupdate = now;
    s->rlentime += t * s->rcnt;
    s->rtime += s->rcnt > 0 ? t : 0;
}

void io_waitq_enter(struct io_stats *s, uint64_t now)
{
    kstat_waitq_update(s, now);
    s->wcnt++;
}

void io_waitq_exit(struct io_stats *s, uint64_t now)
{
    kstat_waitq_update(s, now);
    s->wcnt--;
}

void io_runq_enter(struct io_stats *s, uint64_t now)
{
    kstat_runq_update(s, now);
    s->rcnt++;
}

void io_runq_exit(struct io_stats *s, uint64_t now)
{
    kstat_runq_update(s, now);
    s->rcnt--;
}

static const char *const names[] = {
    "nread",    "nwritten",    "reads", "writes", "wtime",   "wlentime", "wlastupdate", "rtime",
    "rlentime", "rlastupdate", "wcnt",  "rcnt",   "flushes", "rmerged",  "wmerged",     "rerrors",
    "werrors",  "ferrors",     "rns",   "wns",    "fns",     "rahead",   "raheadmax",
};
_Static_assert(sizeof(struct io_stats) == sizeof names / sizeof names[0] * sizeof(uint64_t),
               "a name for each");

/* Copies all fields as they are at one moment, after updating the sums of both queues to that moment. */
static void disk_kstat_snapshot(struct kstat *ks, uint64_t *out)
{
    struct disk *d = ks->arg;

    spin_lock(&d->lock);
    kstat_waitq_update(&d->stats, clock_mono_ns());
    kstat_runq_update(&d->stats, d->stats.wlastupdate);
    memcpy(out, &d->stats, sizeof d->stats);
    spin_unlock(&d->lock);
}

/* Sets all fields to zero, except those that describe the present state of the queues. */
static void disk_kstat_clear(struct kstat *ks)
{
    struct disk *d = ks->arg;
    struct io_stats s;

    spin_lock(&d->lock);
    s = d->stats;
    d->stats = (struct io_stats){
        .wlastupdate = s.wlastupdate, .rlastupdate = s.rlastupdate, .wcnt = s.wcnt, .rcnt = s.rcnt};
    spin_unlock(&d->lock);
}

void disk_read_stats(struct disk *d, struct disk_counts *out)
{
    const struct io_stats *s = &d->stats;

    spin_lock(&d->lock);
    kstat_runq_update(&d->stats, clock_mono_ns());
    *out = (struct disk_counts){s->reads,          s->writes,   s->rmerged, s->wmerged,
                                s->nread,          s->nwritten, s->rns,     s->wns,
                                s->wcnt + s->rcnt, s->rtime,    s->flushes, s->fns};
    spin_unlock(&d->lock);
}

void stats_register(struct disk *d, unsigned instance)
{
    d->stats.wlastupdate = d->stats.rlastupdate = clock_mono_ns();
    d->kstat = (struct kstat){.module = "sd",
                              .instance = (int)instance,
                              .kclass = "disk",
                              .nstat = array_size(names),
                              .names = names,
                              .snapshot = disk_kstat_snapshot,
                              .clear = disk_kstat_clear,
                              .arg = d};
    snprintf(d->kstat.name, sizeof d->kstat.name, "%s", d->name);
    kstat_register(&d->kstat);
}
