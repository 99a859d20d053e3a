// SPDX-License-Identifier: MIT
/* stdlib.h - as lwIP includes it: only netif_find() wants anything of it, a number. */
#ifdef HR_HOST
#include_next <stdlib.h>
#else
static inline int atoi(const char *s)
{
    int n = 0;

    while (*s >= '0' && *s <= '9')
        n = n * 10 + *s++ - '0';
    return n;
}
#endif
