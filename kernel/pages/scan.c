// SPDX-License-Identifier: MIT
/*
 * scan.c - visits all frames in turn, and locks the owner of a frame.
 *
 * THEORY      The scanner starts from a frame.  The frame's descriptor names the object or fork family of
 *             its page.  But that owner may be freed before the scanner has its lock.  Pages hold no reference
 *             to their owner, because allocating and freeing pages must be cheap.
 *             So each scanner has a number in looking[].  It makes the number odd, reads the name, tries
 *             the lock, checks that the page is still in a tree of that owner, and makes the number
 *             even.  A page that leaves its tree forgets the object or is freed
 *             (object_remove_page).  After that, before the object is freed, pageout_quiesce()
 *             waits while a number is odd.  The wait takes some dozens of instructions, and happens
 *             only if a scanner has made its number odd and not yet even again.
 *             The flags and the name of a descriptor are read twice, to detect that the frame changed its
 *             use in between.
 * LOCKING     The lock of the family or object is only tried.  Locks of objects of the family are taken after
 *             the family's lock.
 * SEE ALSO    pageout.c
 */
#include "pages/scan.h"

#include "pages/pageout.h"

/* odd: the scanner has read a name and does not yet hold the lock */
static _Atomic uint32_t looking[SCANNERS];

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
        return SCAN_FREE; /* only the descriptor of the head is valid */
    flags = page_flags_acquire(pg);
    if ((flags & (PG_UNPAGEABLE | PG_PT | PG_SLAB)) != 0)
        return SCAN_UNPAGEABLE;
    if ((flags & PG_HEAD) != 0)
        return SCAN_OTHER; /* a 2 MiB page of a program, which is never reclaimed */
    if ((flags & PG_DISK) != 0)
        return SCAN_DISK;
    if ((flags & PG_ANON) != 0)
        return SCAN_ANON;
    return (flags & PG_FREE) != 0 || atomic_load_explicit(&pg->refs, memory_order_relaxed) == 0
               ? SCAN_FREE
               : SCAN_OTHER;
}

/*
 * Returns the object of the family that names the page, or NULL.  If it finds one, it also takes a reference to
 * the page, because the family's lock does not keep the page in the object.  The caller has locked the family.
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
        if (yes) {
            anon_family_found(f, o);
            return o;
        }
    }
    return NULL;
}

/*
 * Tries to lock the owner of a page: its object, or the family of a private page.  Fills in *out.  false: the
 * owner is not locked.
 */
static bool trylock_page_owner(struct page *pg, uint64_t owner, bool private, struct scan_page *out)
{
    *out = (struct scan_page){.pg = pg};
    if (private) {
        struct anon_family *f = (struct anon_family *)owner;

        if (!spin_trylock(&f->lock))
            return false;
        out->own.family = f;
        out->in = find_naming_object(f, pg);
        if (out->in != NULL)
            return true;
        spin_unlock(&f->lock);
    } else {
        struct vm_object *o = (struct vm_object *)owner;

        if (!spin_trylock(&o->lock))
            return false;
        out->own.obj = out->in = o;
        if (radix_lookup(&o->tree, pg->index) == pg)
            return true;
        spin_unlock(&o->lock);
    }
    return false;
}

/* The flags that distinguish uses of a frame. */
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

    if (sp->own.family != NULL)
        spin_lock(&sp->in->lock);
    pg = radix_lookup(&sp->in->tree, index);
    if (pg != NULL && ((page_flags_acquire(pg) & PG_SWAPPED) != 0 || pg->order != 0))
        pg = NULL;
    if (pg != NULL && sp->own.family != NULL)
        page_hold(pg);
    if (sp->own.family != NULL)
        spin_unlock(&sp->in->lock);
    *out = *sp;
    out->pg = pg;
    return pg != NULL;
}

void scan_unlock(const struct scan_page *sp)
{
    page_owner_unlock(sp->own);
    if (sp->own.family != NULL)
        page_release(sp->pg);
}
