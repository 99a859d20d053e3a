// SPDX-License-Identifier: MIT
/* stdlib.h - the header of that name that lwIP includes: only netif_find() needs it, for atoi(). */
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
