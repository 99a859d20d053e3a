// SPDX-License-Identifier: MIT
/*
 * procfs_numa.c - /proc/N/numa_maps: the policy of each segment, and the nodes of its pages, in Linux's format.
 *
 * THEORY      A line has the start of the segment, the policy, the name, and counts of pages: anon (private or
 *             shared memory), dirty, mapped (if some are of a file), mapmax (most users of a page), and N0=, N1=, ...
 *             by node.  The policy is that of mbind(2), or without one, that of the first thread of the process.
 * LOCKING     proc_lock while the thread is looked up; vm's functions take as->lock.
 * SEE ALSO    numa(7), proc(5), numastat -p
 */
#include "procfs/segments.h"

static const char *const mode_names[MPOL_COUNT] = {
    [MPOL_DEFAULT] = "default", [MPOL_PREFERRED] = "prefer",
    [MPOL_BIND] = "bind",       [MPOL_INTERLEAVE] = "interleave",
    [MPOL_LOCAL] = "local",     [MPOL_PREFERRED_MANY] = "prefer (many)",
};

/* The policy of the first thread of a process; MPOL_DEFAULT if there is none. */
static void get_first_policy(uint64_t pid, struct mempolicy *mp)
{
    struct proc *p;

    spin_lock(&proc_lock);
    p = proc_find((int)pid);
    if (p != NULL && !list_empty(&p->lwps))
        thread_get_mempolicy(&list_first(&p->lwps, struct lwp, proc_link)->t, mp);
    spin_unlock(&proc_lock);
}

static void show_mempolicy(const struct mempolicy *mp, struct text *out)
{
    text_str(out, mode_names[mp->mode]);
    if ((mp->flags & MPOL_F_STATIC_NODES) != 0)
        text_str(out, "=static");
    if ((mp->flags & MPOL_F_RELATIVE_NODES) != 0)
        text_str(out, "=relative");
    if (mp->nodes != 0) {
        text_str(out, ":");
        text_list(out, &mp->nodes, NODE_MAX);
    }
}

static void show_segment_name(const struct segment_walk *w, struct text *out)
{
    if (w->seg.vn != NULL) {
        text_str(out, " file=");
        text_escaped(out, w->path, "\n\t= ");
    } else if (w->seg.what == SEG_HEAP) {
        text_str(out, " heap");
    } else if (w->seg.what == SEG_STACK) {
        text_str(out, " stack");
    }
    if ((w->seg.flags & MAP_HUGETLB) != 0)
        text_str(out, " huge");
}

static void show_node_counts(const struct as_node_usage *u, bool huge, struct text *out)
{
    if (u->anon != 0)
        text_add(out, " anon=%lu", u->anon);
    if (u->dirty != 0)
        text_add(out, " dirty=%lu", u->dirty);
    if (u->pages != u->anon && u->pages != u->dirty)
        text_add(out, " mapped=%lu", u->pages);
    if (u->max_users > 1)
        text_add(out, " mapmax=%lu", u->max_users);
    for (unsigned n = 0; n < NODE_MAX; n++)
        if (u->on_node[n] != 0)
            text_add(out, " N%u=%lu", n, u->on_node[n]);
    text_add(out, " kernelpagesize_kB=%lu", (huge ? HUGE_SIZE : PAGE_SIZE) / 1024);
}

static void show_segment_nodes(struct as *as, struct segment_walk *w, struct text *out)
{
    struct as_node_usage u;
    struct mempolicy mp;

    if (as_policy_at(as, w->seg.start, &mp) != 0)
        return; /* unmapped meanwhile */
    if (mp.mode == MPOL_DEFAULT)
        get_first_policy(w->pid, &mp);
    as_count_nodes(as, w->seg.start, w->seg.end, &u);
    text_add(out, "%08lx ", w->seg.start);
    show_mempolicy(&mp, out);
    show_segment_name(w, out);
    if (u.pages != 0)
        show_node_counts(&u, (w->seg.flags & MAP_HUGETLB) != 0, out);
    text_str(out, "\n");
}

PROCFS_SHOW(procfs_show_numa_maps)
{
    return procfs_each_segment(arg.a, show_segment_nodes, out);
}
