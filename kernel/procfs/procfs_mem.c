// SPDX-License-Identifier: MIT
/*
 * procfs_mem.c - /proc/N/maps and /proc/N/lgrpmap: the segments of a process, and the boards on
 * which their pages lie.
 *
 * THEORY      Segments are read one by one; each search starts at the end of the last segment.  So the address
 *             space is never locked for longer than one search.  If the process maps memory meanwhile, the
 *             parts of the text show different moments.
 *             lgrpmap has a line for each run of pages that lie in one lgroup and have one size:
 *                 start-end perms lgrp pages pagesize name
 *             If no page is resident, lgrp is `-` and pages is 0.  Parts without pages are skipped in large
 *             steps, and the walk stops when the reader is killed.  So large reservations take little time.
 * LOCKING     Only vm's functions take as->lock.
 * SEE ALSO    procfs.c, pmap(1), proc(5)
 */
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "procfs/segments.h"

static void format_segment_perms(const struct seg_info *s, char out[5])
{
    out[0] = s->prot & PROT_READ ? 'r' : '-';
    out[1] = s->prot & PROT_WRITE ? 'w' : '-';
    out[2] = s->prot & PROT_EXEC ? 'x' : '-';
    out[3] = (s->flags & MAP_SHARED_VALIDATE) == MAP_PRIVATE ? 'p' : 's';
    out[4] = '\0';
}

/* Set w->path to the segment's name. */
static void name_segment(struct segment_walk *w)
{
    static const char *const special[] = {
        [SEG_OTHER] = "",
        [SEG_HEAP] = "[heap]",
        [SEG_STACK] = "[stack]",
        [SEG_VDSO] = "[vdso]",
    };
    int len;

    if (w->seg.vn == NULL) {
        str_copy(w->path, special[w->seg.what], sizeof w->path);
        return;
    }
    len = procfs_path(w->seg.vn, w->path, sizeof w->path - 1);
    if (len < 0)
        str_copy(w->path, "(deleted)", sizeof w->path);
    else
        w->path[len] = '\0';
}

/* Whether the walk continues: there was memory for the text, and the reader is not killed. */
static bool wants_more_text(const struct text *out)
{
    return !out->failed && !proc_is_ending();
}

int procfs_each_segment(uint64_t pid, void (*fn)(struct as *, struct segment_walk *, struct text *),
                        struct text *out)
{
    bool gone;
    struct as *as = procfs_as(pid, &gone);
    int err =
        procfs_check_inspect(pid); /* after procfs_as(), so that it is right for this memory */
    struct segment_walk *w;

    if (as == NULL)
        return err == 0 && gone ? -ESRCH : err;
    w = err == 0 ? kmem_alloc(sizeof *w) : NULL;
    if (w == NULL) {
        as_release(as);
        return err != 0 ? err : -ENOMEM;
    }
    w->pid = pid;
    for (uint64_t addr = 0; wants_more_text(out) && as_next_seg(as, addr, &w->seg) == 0;
         addr = w->seg.end) {
        name_segment(w);
        fn(as, w, out);
        if (w->seg.vn != NULL)
            vn_release(w->seg.vn);
    }
    kmem_free(w);
    as_release(as);
    return 0;
}

static void show_segment_map(struct as *as, struct segment_walk *w, struct text *out)
{
    const struct seg_info *s = &w->seg;
    struct vattr va = {0};
    char perms[5], line[128];
    int len;

    if (s->vn != NULL)
        vn_getattr(s->vn, &va);
    format_segment_perms(s, perms);
    len = snprintf(line, sizeof line, "%08lx-%08lx %s %08lx %02lx:%02lx %lu ", s->start, s->end,
                   perms, s->vn != NULL ? s->off : 0ul, va.dev >> 8 & 0xfff, va.dev & 0xff, va.ino);
    text_bytes(out, line, (size_t)len);
    if (w->path[0] != '\0') {
        text_add(out, "%*s", len < 73 ? 73 - len : 0, "");
        text_escaped(out, w->path, "\n");
    }
    text_str(out, "\n");
}

/* A run of addresses that gets one line of lgrpmap; if !present, the run has no pages. */
struct run {
    uint64_t start, end, pages;
    bool present;
    unsigned lgrp;
    uint64_t pagesize;
};

static void show_lgrp_run(const struct run *r, struct segment_walk *w, struct text *out)
{
    char perms[5], lgrp[12] = "-";

    if (r->end == r->start)
        return;
    if (r->present)
        snprintf(lgrp, sizeof lgrp, "%u", r->lgrp);
    format_segment_perms(&w->seg, perms);
    text_add(out, "%08lx-%08lx %s %s %lu %lu ", r->start, r->end, perms, lgrp, r->pages,
             r->pagesize);
    text_escaped(out, w->path, "\n");
    text_str(out, "\n");
}

/*
 * Add the page or hole at `va` to *r, or print *r and begin a new run.  Returns the address after
 * the page or hole.
 */
static uint64_t extend_lgrp_run(struct run *r, const struct as_page_info *pg, uint64_t va,
                                struct segment_walk *w, struct text *out)
{
    uint64_t size = pg->present ? pg->pagesize : PAGE_SIZE;
    uint64_t next = min_of(round_down(va, size) + size, w->seg.end);

    if (pg->present != r->present ||
        (pg->present && (pg->lgrp != r->lgrp || size != r->pagesize))) {
        show_lgrp_run(r, w, out);
        *r = (struct run){.start = va, .present = pg->present, .lgrp = pg->lgrp, .pagesize = size};
    }
    r->end = next;
    r->pages += pg->present;
    return next;
}

static void show_segment_lgrps(struct as *as, struct segment_walk *w, struct text *out)
{
    uint64_t va = w->seg.start;
    struct run r = {.start = va, .end = va, .pagesize = PAGE_SIZE};

    if (w->seg.rss_pages == 0) {
        r.end = va = w->seg.end;
    }
    while (va < w->seg.end && wants_more_text(out)) {
        static const struct as_page_info none;
        uint64_t base = as_skip_absent(as, va, w->seg.end);
        unsigned n = (unsigned)min_of((w->seg.end - base) >> PAGE_SHIFT, (uint64_t)SEGMENT_BATCH);

        if (base > va) {
            extend_lgrp_run(&r, &none, va, w, out);
            r.end = va = base;
            continue;
        }
        for (unsigned i = 0; i < n; i++)
            w->addr[i] = base + i * PAGE_SIZE;
        as_query(as, w->addr, n, w->page);
        while (va < base + n * PAGE_SIZE)
            va = extend_lgrp_run(&r, &w->page[(va - base) >> PAGE_SHIFT], va, w, out);
    }
    show_lgrp_run(&r, w, out);
}

PROCFS_SHOW(procfs_show_maps)
{
    return procfs_each_segment(arg.a, show_segment_map, out);
}

PROCFS_SHOW(procfs_show_lgrpmap)
{
    return procfs_each_segment(arg.a, show_segment_lgrps, out);
}
