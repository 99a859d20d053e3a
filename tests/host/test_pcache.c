// SPDX-License-Identifier: MIT
/*
 * test_pcache.c - a file on a disk compared with a model: random writes, reads, truncations, syncs and evictions, with
 * a disk that finishes its requests late, in any order, and sometimes with an error.
 *
 * THEORY      The disk is an array of blocks of a page.  A request stays in its queue until the code under test waits,
 *             or sometimes less long.  A write takes its bytes when it is submitted or when it ends, as devices may do
 *             either.  The model is the bytes that the file must have.
 */
#include "tests/host/check.h"

#include <string.h>

#include "vfs/file.h"
#include "lib/errno.h"
#include "blk/blk.h"
#include "pages/pcache.h"
#include "pages/advice.h"
#include "pages/placement.h"
#include "vm/rmap.h"

enum { PAGES = 150, MAX_BYTES = PAGES * PAGE_SIZE, QUEUE = 256 };

static struct vnode vn;
static struct object_io io;
static uint8_t model[MAX_BYTES], buf[MAX_BYTES];
static uint8_t disk[PAGES][PAGE_SIZE];
static bool block[PAGES]; /* the block exists */
static unsigned nblocks, blocks_max;
static unsigned error_every; /* one of this many requests fails; 0: none */
static unsigned errors, reads_asked;
/* writes for which no thread waits may fail for lack of memory: this is no error */
static bool put_off;
static bool put_off_late;    /* and always does so when the request ends */
static bool refuse_writes;   /* all writes fail when they end */
static void (*beside)(void); /* called once, when a write has ended: stands for another thread */

static struct request {
    struct page *pg;
    bool write, early, sync;
    uint8_t bytes[PAGE_SIZE];
} *queue[QUEUE];
static unsigned nqueue;

uint32_t vn_mode_without_setid(const struct vnode *v, uint32_t mode)
{
    return mode;
}

void vn_times_now(struct vnode *v, unsigned mask)
{
    (void)v, (void)mask;
}

struct placement place_of_object(struct vm_object *o, uint64_t index)
{
    (void)o;
    return (struct placement){.index = index};
}

void object_forget_advice(struct vm_object *o)
{
    (void)o;
}

struct page *place_page(const struct placement *pl, unsigned order, unsigned flags, uint64_t index)
{
    (void)pl, (void)index;
    return page_alloc(0, order, flags);
}

unsigned rmap_unmap(struct page_owner own, struct page *pg, struct tlb_batch *b)
{
    (void)own, (void)pg, (void)b;
    return 0;
}

void rmap_protect_shared(struct vm_object *o, uint64_t first, uint64_t last, struct tlb_batch *b)
{
    CHECK(o->lock.held && first <= last);
    b->everyone = true;
}

void tlb_batch_flush(struct tlb_batch *b)
{
    CHECK(host_spins_held == 0);
    tlb_batch_init(b);
}

/* ---- functions that are not tested here ---- */

bool cachelist_on;

void cachelist_boot(void)
{
}

void cachelist_put(struct page *pg, bool first)
{
    (void)pg, (void)first;
}

void cachelist_take(struct page *pg)
{
    (void)pg;
}

void pcache_count_around(unsigned n)
{
    (void)n;
}
void page_touch_ahead(struct page *pg, struct around *a)
{
    atomic_fetch_and(&pg->flags, ~(uint32_t)PG_AHEAD);
    around_used(a);
}
bool pageout_spare(uint64_t n)
{
    (void)n;
    return true;
}
uint32_t disk_seek_blocks(struct disk *d, uint32_t sectors)
{
    (void)d, (void)sectors;
    return DISK_SEEK_BLOCKS;
}

bool pageout_low_file_memory(void)
{
    return check_below(2) != 0;
}

void pageout_quiesce(void)
{
}

enum mem_wait mem_wait(struct mem_need *need)
{
    (void)need;
    return MEM_EXHAUSTED;
}

void pcache_count_in(enum page_kind kind, unsigned n)
{
    (void)kind, (void)n;
}

void pcache_count_out(enum page_kind kind, unsigned n)
{
    (void)kind, (void)n;
}

void pcache_count_reclaim(void)
{
}

int reserve_pages(uint64_t pages)
{
    (void)pages;
    return 0;
}

void reserve_return(uint64_t pages)
{
    (void)pages;
}

/* ---- the disk ---- */

static void finish(unsigned i)
{
    struct request *r = queue[i];
    struct page *pg = r->pg;
    int err = error_every != 0 && check_below(error_every) == 0 ? -EIO : 0;
    void (*other)(void) = r->write ? beside : NULL;

    if (r->write && refuse_writes)
        err = -EIO;
    queue[i] = queue[--nqueue];
    CHECK(pg->refs > 0);
    if (r->write && !r->sync && put_off_late)
        err = -EAGAIN;
    else if (err != 0 && r->write)
        errors++;
    else if (err == 0 && r->write && block[pg->index])
        memcpy(disk[pg->index], r->early ? r->bytes : page_to_virt(pg), PAGE_SIZE);
    else if (err == 0 && block[pg->index])
        memcpy(page_to_virt(pg), disk[pg->index], PAGE_SIZE);
    else if (err == 0)
        memset(page_to_virt(pg), 0, PAGE_SIZE);
    if (r->write) {
        object_write_done(pg, err);
    } else {
        /* the bytes beyond the end read as zero */
        if (((pg->index + 1) << PAGE_SHIFT) > vn.size) {
            uint64_t in = max_of(vn.size, pg->index << PAGE_SHIFT) - (pg->index << PAGE_SHIFT);

            memset((uint8_t *)page_to_virt(pg) + in, 0, PAGE_SIZE - in);
        }
        object_read_done(pg, err);
    }
    free(r);
    if (other != NULL) {
        beside = NULL;
        other();
    }
}

void page_wait(struct page *pg, uint32_t mask)
{
    while ((pg->flags & mask) != 0) {
        CHECK(nqueue > 0);
        finish((unsigned)check_below(nqueue));
    }
}

void page_done(struct page *pg, uint32_t mask)
{
    atomic_fetch_and(&pg->flags, ~mask);
}

void cv_wait_spin(struct cv *cv, struct spinlock *l, const char *what)
{
    int woken = cv->lock.rank;

    (void)what;
    spin_unlock(l);
    while (cv->lock.rank == woken) {
        CHECK(nqueue > 0);
        finish((unsigned)check_below(nqueue));
    }
    spin_lock(l);
}

void cv_wait_disk(struct cv *cv, struct spinlock *l, const char *what)
{
    cv_wait_spin(cv, l, what);
}

static void submit(struct page **pages, unsigned n, bool write, bool sync)
{
    for (unsigned i = 0; i < n; i++) {
        struct request *r = malloc(sizeof *r);

        CHECK(pages[i]->index == pages[0]->index + i);
        CHECK((pages[i]->flags & (write ? PG_WRITEBACK : PG_LOCKED)) != 0);
        if (nqueue == QUEUE)
            finish((unsigned)check_below(nqueue));
        *r = (struct request){
            .pg = pages[i], .write = write, .sync = sync, .early = check_below(2) != 0};
        memcpy(r->bytes, page_to_virt(pages[i]), PAGE_SIZE);
        queue[nqueue++] = r;
    }
}

static int readpages(struct vm_object *o, struct page **pages, unsigned n)
{
    (void)o;
    if (error_every != 0 && check_below(error_every * 4) == 0)
        return -EIO;
    reads_asked += n;
    submit(pages, n, false, true);
    return 0;
}

static int writepages(struct vm_object *o, struct page **pages, unsigned n, enum write_why why)
{
    bool sync = why == WRITE_SYNC;

    (void)o;
    if (put_off && !sync && check_below(3) == 0)
        return -EAGAIN;
    if (error_every != 0 && check_below(error_every * 4) == 0) {
        errors++;
        return -EIO;
    }
    submit(pages, n, true, sync);
    return 0;
}

static const uint8_t *behind; /* a byte that must be zero when a page gets blocks; NULL: none */

static void trim(struct vnode *v)
{
    CHECK(behind == NULL || *behind == 0);
    for (uint64_t i = (v->size + PAGE_SIZE - 1) >> PAGE_SHIFT; i < PAGES; i++) {
        nblocks -= block[i];
        block[i] = false;
    }
}

static int prepare_write(struct vm_object *o, uint64_t off, uint64_t len)
{
    struct page *pg = radix_lookup(&o->tree, off >> PAGE_SHIFT);

    CHECK(behind == NULL || *behind == 0);
    CHECK(off >> PAGE_SHIFT == (off + len - 1) >> PAGE_SHIFT);
    if (block[off >> PAGE_SHIFT])
        return 0;
    /* a store through a mapping must not find the page dirty and without a block */
    CHECK(pg != NULL && (pg->flags & PG_MKWRITE) != 0);
    if (nblocks == blocks_max)
        return -ENOSPC;
    memset(disk[off >> PAGE_SHIFT], 0xdd, PAGE_SIZE); /* stands for the old contents of the block */
    block[off >> PAGE_SHIFT] = true;
    nblocks++;
    return 0;
}

static const struct pager_ops pager = {
    .readpages = readpages, .writepages = writepages, .prepare_write = prepare_write};
static const struct vnodeops ops = {.trim = trim};
static struct vfs vfs;

static struct itree_node mapped; /* in the place of a segment: the file counts as mapped */

static void start(void)
{
    memset(&vn, 0, sizeof vn);
    vn.type = VREG;
    vn.op = &ops;
    vn.vfs = &vfs;
    rw_init(&vn.lock, SLEEP_FILE);
    object_init_vnode(&vn.obj, &pager, &vn);
    object_io_init(&vn.obj, &io, NULL);
    vn.obj.segs.root = &mapped;
    memset(model, 0, sizeof model);
    memset(block, 0, sizeof block);
    nblocks = errors = error_every = 0;
    blocks_max = PAGES;
}

/* ---- the operations of the test ---- */

static long do_write(uint64_t off, size_t n)
{
    struct iovec one;
    struct uio uio;
    loff_t at = (loff_t)off;
    long r;

    uio_init_kernel(&uio, &one, buf, n, UIO_WRITE);
    r = vn_write_pages(&vn, &uio, &at);
    if (r > 0)
        memcpy(model + off, buf, (size_t)r);
    return r;
}

static long do_read(uint64_t off, size_t n)
{
    struct iovec one;
    struct uio uio;
    long r;

    uio_init_kernel(&uio, &one, buf, n, UIO_READ);
    r = vn_read_pages(&vn, &uio, (loff_t)off, O_NOATIME);
    for (long i = 0; i < r; i++)
        if (buf[i] != model[off + (uint64_t)i])
            check_fail(__FILE__, __LINE__, "byte %ld of the file is %u, not %u", (long)off + i,
                       buf[i], model[off + (uint64_t)i]);
    return r;
}

static void fill(size_t n)
{
    uint8_t b = (uint8_t)check_random();

    for (size_t i = 0; i < n; i++)
        buf[i] = (uint8_t)(b + i * 7);
}

static void do_truncate(uint64_t size)
{
    uint64_t old = vn.size;
    int err;

    rw_enter_write(&vn.lock);
    err = vn_truncate_pages(&vn, size);
    trim(&vn);
    rw_exit_write(&vn.lock);
    CHECK(err == 0 || (err == -EIO && error_every != 0));
    CHECK_EQ(vn.size, size);
    if (size < old)
        memset(model + size, 0, old - size);
}

/* Drops some pages that are clean and not in use, as may happen at any time. */
static void evict(void)
{
    for (uint64_t i = 0; i < PAGES; i++) {
        struct page *pg = radix_lookup(&vn.obj.tree, i);

        if (pg != NULL && (pg->flags & (PG_DIRTY | PG_LOCKED | PG_WRITEBACK)) == 0 &&
            check_below(2) == 0)
            object_punch(&vn.obj, i, i);
    }
}

static void verify_tags(void)
{
    uint32_t dirty = 0, writeback = 0;
    uint64_t i = 0;
    struct page *pg;

    for (; (pg = radix_next(&vn.obj.tree, &i)) != NULL; i++) {
        dirty += (pg->flags & PG_DIRTY) != 0;
        writeback += (pg->flags & PG_WRITEBACK) != 0;
        CHECK((pg->flags & PG_DIRTY) == 0 || block[i]);
    }
    CHECK_EQ(io.ndirty, dirty);
    CHECK_EQ(io.nwriteback, writeback);
    CHECK_EQ(list_empty(&io.dirty_link), dirty == 0);
}

/* The disk must hold the file's bytes. */
static void verify_disk(void)
{
    for (uint64_t i = 0; i * PAGE_SIZE < vn.size; i++) {
        static const uint8_t zeros[PAGE_SIZE];
        uint64_t n = min_of(PAGE_SIZE, vn.size - i * PAGE_SIZE);

        CHECK(memcmp(block[i] ? disk[i] : zeros, model + i * PAGE_SIZE, n) == 0);
    }
}

static void random_step(void)
{
    uint64_t off = check_below(MAX_BYTES - 1), n = 1 + check_below(MAX_BYTES - off);
    long r;

    if (check_below(3) != 0)
        n = 1 + check_below(min_of(n, 12000ul));
    if (check_below(4) == 0)
        off &= PAGE_MASK;
    switch (check_below(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
        fill(n);
        r = do_write(off, n);
        CHECK(r > 0 || (r == -ENOSPC && nblocks == blocks_max) || (r == -EIO && error_every != 0));
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        r = do_read(off, n);
        if (error_every == 0)
            CHECK_EQ(r, off >= vn.size ? 0 : min_of(n, vn.size - off));
        break;
    case 8:
        do_truncate(check_below(4) == 0 ? 0 : off);
        break;
    case 9:
        r = object_sync(&vn.obj, 0, UINT64_MAX);
        if (r == 0 && error_every == 0)
            verify_disk();
        CHECK(r == 0 || error_every != 0);
        break;
    case 10:
        evict();
        break;
    case 11:
        host_fault_after = (long)check_below(20000);
        fill(n);
        do_write(off, n);
        host_fault_after = -1;
        break;
    }
    while (nqueue > 0 && check_below(3) == 0)
        finish((unsigned)check_below(nqueue));
}

static void finish_all(void)
{
    error_every = 0;
    object_sync(&vn.obj, 0, UINT64_MAX);
    CHECK_EQ(object_sync(&vn.obj, 0, UINT64_MAX), 0);
    CHECK_EQ(io.ndirty, 0);
    verify_disk();
    object_truncate(&vn.obj, 0);
    while (nqueue > 0)
        finish(0);
    object_io_fini(&vn.obj);
    CHECK_EQ(vn.obj.npages, 0);
    CHECK_EQ(host_pages, 0);
}

/*
 * The disk has no room for bytes beyond the end: the page, to which another thread may be storing, stays, without them.
 */
TEST(no_room_keeps_the_page)
{
    struct page *pg;

    pcache_boot();
    start();
    do_truncate(100);
    do_read(0, 100);
    CHECK((pg = radix_lookup(&vn.obj.tree, 0)) != NULL);
    blocks_max = 0;
    memset(buf, 'w', 3000);
    CHECK_EQ(do_write(100, 3000), -ENOSPC);
    CHECK(radix_lookup(&vn.obj.tree, 0) == pg && (pg->flags & (PG_DIRTY | PG_MKWRITE)) == 0);
    CHECK_EQ(((uint8_t *)page_to_virt(pg))[100], 0);
    finish_all();
}

/* What a mapping has stored beyond the end is zeroed before fallocate() lets the page be written up to its new end. */
TEST(fallocate_zeroes_behind_the_end_first)
{
    uint8_t *bytes;

    pcache_boot();
    start();
    fill(100);
    CHECK_EQ(do_write(0, 100), 100);
    bytes = page_to_virt(radix_lookup(&vn.obj.tree, 0));
    bytes[200] = 'x';
    behind = &bytes[200];
    CHECK_EQ(vn_fallocate(&vn, 0, 0, 5000), 0);
    behind = NULL;
    CHECK_EQ(vn.size, 5000);
    CHECK_EQ(do_read(0, 5000), 5000);
    finish_all();
}

/*
 * A page that may lack blocks, because the file is sparse, is not left dirty by a truncation: otherwise stores would
 * not fault.
 */
TEST(cut_page_asks_for_blocks)
{
    struct page *pg;

    pcache_boot();
    start();
    fill(PAGE_SIZE);
    CHECK_EQ(do_write(0, PAGE_SIZE), PAGE_SIZE);
    CHECK_EQ(object_sync(&vn.obj, 0, UINT64_MAX), 0);
    do_truncate(100);
    CHECK((pg = radix_lookup(&vn.obj.tree, 0)) != NULL);
    CHECK_EQ(pg->flags & (PG_DIRTY | PG_MKWRITE | PG_WRITEBACK), PG_WRITEBACK);
    CHECK_EQ(object_sync(&vn.obj, 0, UINT64_MAX), 0);
    verify_disk();
    finish_all();
}

TEST(random_against_model)
{
    pcache_boot();
    for (unsigned round = 0; round < 20; round++) {
        start();
        blocks_max = round % 3 == 2 ? PAGES / 2 : PAGES;
        put_off = round % 2 != 0;
        for (unsigned step = 0; step < 400; step++) {
            random_step();
            verify_tags();
        }
        finish_all();
    }
    put_off = false;
}

/*
 * With errors: a page whose write fails stays dirty, and a later sync reports it; nothing is lost once the disk works
 * again.
 */
TEST(errors_are_told_and_nothing_is_lost)
{
    unsigned told = 0, happened = 0;

    pcache_boot();
    for (unsigned round = 0; round < 20; round++) {
        start();
        for (unsigned step = 0; step < 300; step++) {
            uint64_t off = check_below(MAX_BYTES - 1),
                     n = 1 + check_below(min_of(MAX_BYTES - off, 40000ul));
            long r;

            error_every = 10;
            fill(n);
            r = do_write(off, n);
            CHECK(r > 0 || r == -EIO);
            if (check_below(4) == 0) {
                errors = 0;
                r = object_sync(&vn.obj, 0, UINT64_MAX);
                told += r == -EIO;
                happened += errors != 0;
                CHECK(r == -EIO || errors == 0);
                error_every = 0;
                r = object_sync(&vn.obj, 0, UINT64_MAX); /* only what happened since then */
                CHECK_EQ(r, 0);
                verify_disk();
            }
            verify_tags();
        }
        finish_all();
    }
    CHECK(happened > 20 && told >= happened);
}

/* If a write that is in progress when a sync begins is postponed for lack of memory, the sync writes the page. */
TEST(sync_writes_what_was_put_off)
{
    pcache_boot();
    start();
    fill(3 * PAGE_SIZE);
    CHECK_EQ(do_write(0, 3 * PAGE_SIZE), 3 * PAGE_SIZE);
    CHECK_EQ(object_writeback(&vn.obj, 0, UINT64_MAX, WRITE_BEHIND), 0);
    CHECK_EQ(io.nwriteback, 3);
    put_off_late = true;
    CHECK_EQ(object_sync(&vn.obj, 0, UINT64_MAX), 0);
    put_off_late = false;
    CHECK_EQ(io.ndirty, 0);
    verify_disk();
    finish_all();
}

/*
 * sync(2) begins the write of all dirty pages and then waits for the files that are behind.  A page was being written
 * when it looked for dirty pages, and is dirty again when it looks for pages that are being written.
 */
TEST(a_file_whose_write_was_put_off_is_behind)
{
    pcache_boot();
    start();
    fill(3 * PAGE_SIZE);
    CHECK(!object_is_behind(&vn.obj));
    CHECK_EQ(do_write(0, 3 * PAGE_SIZE), 3 * PAGE_SIZE);
    CHECK(!object_is_behind(&vn.obj)); /* such a page is found by looking for dirty pages */
    CHECK_EQ(object_writeback(&vn.obj, 0, UINT64_MAX, WRITE_BEHIND), 0);
    CHECK(object_is_behind(&vn.obj));
    put_off_late = true;
    while (nqueue > 0)
        finish(0);
    put_off_late = false;
    CHECK_EQ(io.nwriteback, 0);
    CHECK_EQ(io.ndirty, 3);
    CHECK(object_is_behind(&vn.obj));
    CHECK_EQ(object_sync(&vn.obj, 0, 0), 0); /* only one of the three pages */
    CHECK(object_is_behind(&vn.obj));
    refuse_writes = true;
    CHECK_EQ(object_sync(&vn.obj, 0, UINT64_MAX), -EIO);
    CHECK_EQ(io.ndirty, 2);
    CHECK(!object_is_behind(&vn.obj)); /* to wait for the refused pages would be in vain */
    refuse_writes = false;
    finish_all();
}

static int other_error;

static void sync_beside(void)
{
    other_error = object_sync(&vn.obj, 0, UINT64_MAX);
}

/* Two threads sync the same page, which the disk refuses: both get the error, and so does the next sync. */
TEST(each_sync_is_told)
{
    pcache_boot();
    start();
    fill(PAGE_SIZE);
    CHECK_EQ(do_write(0, PAGE_SIZE), PAGE_SIZE);
    CHECK_EQ(object_writeback(&vn.obj, 0, UINT64_MAX, WRITE_BEHIND), 0);
    refuse_writes = true;
    beside = sync_beside;
    CHECK_EQ(object_sync(&vn.obj, 0, UINT64_MAX), -EIO);
    CHECK_EQ(other_error, -EIO);
    CHECK_EQ(object_sync(&vn.obj, 0, UINT64_MAX), -EIO);
    CHECK_EQ(io.ndirty, 1);
    refuse_writes = false;
    CHECK_EQ(object_sync(&vn.obj, 0, UINT64_MAX), 0);
    finish_all();
}

/* A sequential reader requests each page from the disk once, and the read-ahead is ahead of it. */
TEST(read_ahead)
{
    pcache_boot();
    start();
    fill(MAX_BYTES);
    CHECK_EQ(do_write(0, MAX_BYTES), MAX_BYTES);
    CHECK_EQ(object_sync(&vn.obj, 0, UINT64_MAX), 0);
    object_truncate(&vn.obj, 0);
    reads_asked = 0;
    CHECK_EQ(do_read(0, 100), 100);
    CHECK_EQ(reads_asked, READAHEAD_FIRST);
    for (uint64_t off = 100; off < MAX_BYTES; off += 1000)
        do_read(off, 1000);
    CHECK_EQ(reads_asked, PAGES);
    finish_all();
}

/* Complete blocks are written in clusters without a request.  A writer that is faster than the disk sleeps. */
TEST(write_behind_and_throttle)
{
    pcache_boot();
    start();
    for (uint64_t off = 0; off < 31 * PAGE_SIZE; off += 1000) {
        fill(1000);
        do_write(off, 1000);
        CHECK_EQ(io.nwriteback, 0);
    }
    fill(2 * PAGE_SIZE);
    do_write(30 * PAGE_SIZE, 2 * PAGE_SIZE);
    CHECK_EQ(io.nwriteback, 32); /* maxphys */
    for (unsigned k = 1; k < 4; k++) {
        fill(32 * PAGE_SIZE);
        do_write(k * 32 * PAGE_SIZE, 32 * PAGE_SIZE);
        /* the last cluster exceeds the limit: 96 pages are not more than ufs_HW */
        CHECK_EQ(io.nwriteback, (k + 1) * 32);
    }
    fill(10);
    do_write(0, 10);
    CHECK(io.nwriteback <= 64); /* it slept until ufs_LW */
    finish_all();
}
