// SPDX-License-Identifier: MIT
/*
 * synchost.h - included before each file of test_sync: atomic operations and pauses let another thread run.
 */
#ifndef TESTS_HOST_SYNCHOST_H
#define TESTS_HOST_SYNCHOST_H

#include "lib/cpu.h"

/* may_switch - another thread may run here; as decided by the test's random numbers. */
void may_switch(void);
/* must_switch - all other threads that can run come before this one. */
void must_switch(void);
/* host_tsc - a clock that advances with each call. */
uint64_t host_tsc(void);

#define rdtsc()     host_tsc()
#define cpu_pause() must_switch()

#undef atomic_load_explicit
#define atomic_load_explicit(p, order) (may_switch(), __atomic_load_n(p, order))
#undef atomic_fetch_and
#define atomic_fetch_and(p, mask) (may_switch(), __atomic_fetch_and(p, mask, __ATOMIC_SEQ_CST))
#undef atomic_compare_exchange_strong_explicit
#define atomic_compare_exchange_strong_explicit(p, old, new, order, failed)                        \
    (may_switch(), __atomic_compare_exchange_n(p, old, new, false, order, failed))
#undef atomic_compare_exchange_weak_explicit
#define atomic_compare_exchange_weak_explicit(p, old, new, order, failed)                          \
    atomic_compare_exchange_strong_explicit(p, old, new, order, failed)

#endif
