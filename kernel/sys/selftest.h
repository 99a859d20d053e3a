// SPDX-License-Identifier: MIT
/*
 * selftest.h - /dev/selftest, a device of test builds only.
 */
#ifndef SYS_SELFTEST_H
#define SYS_SELFTEST_H

#ifdef HR_TEST
/* selftest_init - register /dev/selftest. */
void selftest_init(void);
#else
static inline void selftest_init(void)
{
}
#endif

#endif
