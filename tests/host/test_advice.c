// SPDX-License-Identifier: MIT
/*
 * test_advice.c - the advice on an object's pages compared with a table of one policy for each page.
 *
 * THEORY      After each call the policies of all pages are those of the table.  The list has no more ranges than the
 *             table has runs of equal policy, so adjacent ranges were joined.  The user is charged for the memory of
 *             the ranges.
 */
#include "tests/host/check.h"
#include "tests/host/machine.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cpu.h"
#include "lib/errno.h"
#include "mem/kmem.h"
#include "mem/usermem.h"
#include "pages/object.h"
#include "stat/cpustat.h"
#include "pages/advice.h"

enum { PAGES = 200, POLICIES = 4, MOST = 256 /* ranges */ };

static struct cpu_counted cpu;
static struct vm_object object;
static struct usermem user;
static uint64_t user_max;    /* bytes */
static unsigned alloc_fails; /* one of this many allocations fails; 0: none */
static long nallocated;
static size_t range_bytes;
static unsigned table[PAGES];

void panic(const char *fmt, ...)
{
    fprintf(stderr, "panic: %s\n", fmt);
    abort();
}

/* ---- memory ---- */

void *kmem_alloc(size_t size)
{
    /* the allocation may sleep, so the lock must be free */
    CHECK_EQ(object.lock.owner, object.lock.next);
    if (alloc_fails != 0 && check_below(alloc_fails) == 0)
        return NULL;
    range_bytes = size;
    nallocated++;
    return malloc(size);
}

void kmem_free(void *p)
{
    nallocated -= p != NULL;
    free(p);
}

struct usermem *usermem_charge(size_t bytes)
{
    if (user.bytes + bytes > user_max)
        return NULL;
    user.bytes += bytes;
    return &user;
}

/* ---- the table of policies ---- */

static void start(void)
{
    static const struct machine_ops none;

    cpu.cpu = (struct cpu){.self = &cpu.cpu, .stat = &cpu.stat};
    machine_start(&cpu, &none);
    if (object.advised.next != NULL) /* removes what the test before has left */
        object_forget_advice(&object);
    memset(&object, 0, sizeof object);
    spin_init(&object.lock, RANK_VM_OBJ);
    list_init(&object.advised);
    memset(table, 0, sizeof table);
    user.bytes = 0;
    user_max = UINT64_MAX;
    alloc_fails = 0;
    nallocated = 0;
}

/* The number of ranges that the table needs: its runs of equal policy, without those that have no advice. */
static unsigned runs(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < PAGES; i++)
        n += table[i] != 0 && (i == 0 || table[i] != table[i - 1]);
    return n;
}

static void check_all(void)
{
    unsigned n = 0;
    struct list *l;

    for (unsigned i = 0; i < PAGES; i++)
        CHECK_EQ(object_policy(&object, i), table[i]);
    CHECK_EQ(object_policy(&object, PAGES), 0);
    CHECK_EQ(object_policy(&object, UINT64_MAX), 0);
    for (l = object.advised.next; l != &object.advised; l = l->next)
        n++;
    CHECK_EQ(n, runs());
    CHECK_EQ(object.nadvised, n);
    CHECK_EQ(nallocated, n);
    CHECK_EQ(user.bytes, n * range_bytes);
}

/* Advises pages first .. last, and changes the table if that succeeds.  Returns the result of object_advise(). */
static int advise(unsigned first, unsigned last, unsigned policy)
{
    int err = object_advise(&object, first, last, policy);

    CHECK_EQ(object.lock.owner, object.lock.next);
    for (unsigned i = first; err == 0 && i <= last; i++)
        table[i] = policy;
    check_all();
    return err;
}

/* ---- tests ---- */

TEST(none_at_first)
{
    start();
    check_all();
    CHECK_EQ(advise(0, PAGES - 1, 0), 0); /* removes advice where there was none */
    object_forget_advice(&object);
    check_all();
}

TEST(neighbours_are_joined)
{
    start();
    CHECK_EQ(advise(10, 19, 1), 0);
    CHECK_EQ(advise(30, 39, 1), 0);
    CHECK_EQ(advise(20, 24, 2), 0);
    CHECK_EQ(object.nadvised, 3);
    CHECK_EQ(advise(20, 29, 1), 0); /* fills the gap */
    CHECK_EQ(object.nadvised, 1);
    CHECK_EQ(advise(9, 9, 2), 0);
    CHECK_EQ(advise(40, 40, 2), 0);
    CHECK_EQ(object.nadvised, 3);
    CHECK_EQ(advise(8, 41, 1), 0);
    CHECK_EQ(object.nadvised, 1);
}

TEST(a_range_is_cut)
{
    start();
    CHECK_EQ(advise(10, 50, 1), 0);
    CHECK_EQ(advise(20, 30, 0), 0); /* makes a hole */
    CHECK_EQ(object.nadvised, 2);
    CHECK_EQ(advise(40, 45, 2), 0); /* three ranges */
    CHECK_EQ(object.nadvised, 4);
    CHECK_EQ(advise(0, 14, 3), 0); /* covers the beginning of one range and the end of another */
    CHECK_EQ(advise(48, 60, 0), 0);
    CHECK_EQ(advise(0, PAGES - 1, 0), 0);
    CHECK_EQ(object.nadvised, 0);
}

TEST(any_advice)
{
    start();
    for (unsigned k = 0; k < 2000; k++) {
        unsigned first = (unsigned)check_below(PAGES);
        unsigned most = k % 3 == 0 ? PAGES - first : min_of(10u, PAGES - first);

        CHECK_EQ(
            advise(first, first + (unsigned)check_below(most), (unsigned)check_below(POLICIES)), 0);
    }
    object_forget_advice(&object);
    memset(table, 0, sizeof table);
    check_all();
}

/* Without memory, or beyond the user's limit, nothing changes. */
TEST(without_memory)
{
    unsigned failed = 0;

    start();
    alloc_fails = 3;
    for (unsigned k = 0; k < 2000; k++) {
        unsigned first = (unsigned)check_below(PAGES - 10);
        int err;

        user_max = k % 100 < 50 ? UINT64_MAX : 20 * range_bytes;
        err = advise(first, first + (unsigned)check_below(10), (unsigned)check_below(POLICIES));
        CHECK(err == 0 || err == -ENOMEM);
        failed += err != 0;
    }
    CHECK(failed > 500 && failed < 2000);
}

/*
 * An object has a limited number of ranges.  At the limit, advice can still be removed, and then given again at that
 * place.
 */
TEST(limit)
{
    unsigned n = 0;

    start();
    while (n < 2 * MOST && object_advise(&object, 2 * n, 2 * n, 1) == 0)
        n++;
    CHECK_EQ(n, MOST);
    CHECK_EQ(object.nadvised, MOST);
    CHECK_EQ(object_advise(&object, 0, 0, 2), -ENOMEM);
    CHECK_EQ(object_policy(&object, 0), 1);
    CHECK_EQ(object_policy(&object, 2 * MOST), 0);
    CHECK_EQ(object_advise(&object, 0, 0, 0), 0);
    CHECK_EQ(object_policy(&object, 0), 0);
    CHECK_EQ(object_advise(&object, 0, 0, 2), 0);
    CHECK_EQ(object_advise(&object, 0, 2 * MOST, 0), 0);
    CHECK_EQ(object.nadvised, 0);
    CHECK_EQ(nallocated, 0);
    CHECK_EQ(user.bytes, 0);
}
