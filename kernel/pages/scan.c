// SPDX-License-Identifier: MIT
/*
 * scan.c - looking at frames one after the other, and locking what they belong to.
 *
 * THEORY      A frame's descriptor names the object or the fork family of its page, but nothing keeps these from
 *             being freed before the scanner has their lock: most pages come and go without a thought of scanners,
 *             and must stay cheap.  So the scanner makes its number odd, reads the name, tries the lock, checks that
 *             the page is still in a tree there, and makes the number even.  A page that leaves its tree forgets the
 *             object, or is freed (object_remove_page); then its last user waits while a number is odd
 *             (pageout_quiesce): some dozens of instructions, and only if a scanner happens to be between the two.  A
 *             descriptor is read twice, flags and name, so that a frame that changes its use in between is not taken
 *             for what it was.
 * LOCKING     family or object, tried, then objects of the family
 * SEE ALSO    pageout.c
 */
#include "pages/scan.h"

#include "vm/as.h"
#include "pages/pageout.h"

static _Atomic uint32_t looking[SCANNERS]; /* odd: between reading a name and holding its lock */

void pageout_quiesce(void)
{
    for (unsigned i = 0; i < SCANNERS; i++) {
        uint32_t seen = atomic_load(&looking[i]);

        while ((seen & 1) != 0 && atomic_load(&looking[i]) == seen)
            cpu_pause();
    }
}

uint64_t scan_total(void)
{
    struct mem_stretch s;
    uint64_t n = 0;

    for (unsigned i = 0; mem_stretch(i, &s); i++)
        n += (uint64_t)(s.end - s.first);
    return n;
}

struct scan_pos scan_start(uint64_t offset)
{
    struct mem_stretch s = {0};
    unsigned i = 0;

    for (; mem_stretch(i, &s) && offset >= (uint64_t)(s.end - s.first); i++)
        offset -= (uint64_t)(s.end - s.first);
    return (struct scan_pos){i, s.first + offset};
}

struct page *scan_next(struct scan_pos *pos, bool *wrapped)
{
    struct mem_stretch s;
    struct page *pg;

    if (!mem_stretch(pos->stretch, &s) || pos->at >= s.end) {
        if (!mem_stretch(++pos->stretch, &s)) {
            pos->stretch = 0;
            mem_stretch(0, &s);
            *wrapped = true;
        }
        pos->at = s.first;
    }
    pg = pos->at++;
    return pg;
}

static inline uint32_t page_flags_acquire(const struct page *pg)
{
    return atomic_load_explicit(&pg->flags, memory_order_acquire);
}

enum scan_use scan_use(const struct page *pg)
{
    const uint64_t pfn = (uint64_t)(pg - vmemmap);
    const struct page *head = vmemmap + round_down(pfn, 1ul << MAX_ORDER);
    uint32_t flags;

    if ((page_flags_acquire(head) & (PG_FREE | PG_HEAD_ONLY)) == (PG_FREE | PG_HEAD_ONLY))
        return SCAN_FREE; /* nothing can be said of its other descriptors */
    flags = page_flags_acquire(pg);
    if ((flags & (PG_UNPAGEABLE | PG_PT | PG_SLAB)) != 0)
        return SCAN_UNPAGEABLE;
    if ((flags & PG_HEAD) != 0)
        return SCAN_OTHER; /* 2 MiB of a program's, which stay */
    if ((flags & PG_DISK) != 0)
        return SCAN_DISK;
    if ((flags & PG_ANON) != 0)
        return SCAN_ANON;
    return (flags & PG_FREE) != 0 || atomic_load_explicit(&pg->refs, memory_order_relaxed) == 0
               ? SCAN_FREE
               : SCAN_OTHER;
}

/*
 * The object of the family that names the page, or NULL.  Then the page is held: the family's lock does not keep the
 * object from letting go of it.  The family is locked.
 */
static struct vm_object *find_naming_object(struct anon_family *f, struct page *pg)
{
    struct vm_object *o;

    LIST_FOREACH (o, &f->objs, family_link) {
        bool yes;

        spin_lock(&o->lock);
        yes = radix_lookup(&o->tree, pg->index) == pg;
        if (yes)
            page_hold(pg);
        spin_unlock(&o->lock);
        if (yes)
            return o;
    }
    return NULL;
}

/* Locks the object, or the family of a private page. */
static bool trylock_page_owner(struct page *pg, uint64_t owner, bool private, struct scan_page *out)
{
    *out = (struct scan_page){.pg = pg};
    if (private) {
        struct anon_family *f = (struct anon_family *)owner;

        if (!spin_trylock(&f->lock))
            return false;
        out->family = f;
        out->in = find_naming_object(f, pg);
        if (out->in != NULL)
            return true;
        spin_unlock(&f->lock);
    } else {
        struct vm_object *o = (struct vm_object *)owner;

        if (!spin_trylock(&o->lock))
            return false;
        out->obj = out->in = o;
        if (radix_lookup(&o->tree, pg->index) == pg)
            return true;
        spin_unlock(&o->lock);
    }
    return false;
}

/* What tells uses of a frame apart. */
#define SCAN_FLAGS (PG_DISK | PG_ANON | PG_PRIVATE | PG_HEAD | PG_FREE | PG_SLAB | PG_PT)

bool scan_lock(unsigned who, struct page *pg, struct scan_page *out)
{
    uint32_t flags;
    uint64_t owner;
    bool ok = false;

    irq_push();
    atomic_fetch_add(&looking[who], 1);
    flags = page_flags_acquire(pg) & SCAN_FLAGS;
    owner = *(volatile uint64_t *)&pg->priv;
    if ((flags == PG_DISK || flags == PG_ANON || flags == (PG_ANON | PG_PRIVATE)) && owner != 0 &&
        (page_flags_acquire(pg) & SCAN_FLAGS) == flags && *(volatile uint64_t *)&pg->priv == owner)
        ok = trylock_page_owner(pg, owner, (flags & PG_PRIVATE) != 0, out);
    atomic_fetch_add(&looking[who], 1);
    irq_pop();
    return ok;
}

bool scan_neighbour(const struct scan_page *sp, uint64_t index, struct scan_page *out)
{
    struct page *pg;

    if (sp->family != NULL)
        spin_lock(&sp->in->lock);
    pg = radix_lookup(&sp->in->tree, index);
    if (pg != NULL && ((page_flags_acquire(pg) & PG_SWAPPED) != 0 || pg->order != 0))
        pg = NULL;
    if (pg != NULL && sp->family != NULL)
        page_hold(pg);
    if (sp->family != NULL)
        spin_unlock(&sp->in->lock);
    *out = *sp;
    out->pg = pg;
    return pg != NULL;
}

void scan_unlock(const struct scan_page *sp)
{
    if (sp->obj != NULL) {
        spin_unlock(&sp->obj->lock);
    } else {
        spin_unlock(&sp->family->lock);
        page_release(sp->pg);
    }
}
