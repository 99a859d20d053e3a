// SPDX-License-Identifier: MIT
/*
 * mman.c - meminfo(2) and memcntl(2).
 *
 * SEE ALSO  user/include/sys/mman.h for what they do
 */
#include <sys/mman.h>

#include "homeroom.h"

int meminfo(const uint64_t inaddr[], int addr_count, const uint_t info_req[], int info_count,
            uint64_t outdata[], uint_t validity[])
{
    return (int)hr_call(SYS_meminfo, (long)inaddr, addr_count, (long)info_req, info_count,
                        (long)outdata, (long)validity);
}

int memcntl(caddr_t addr, size_t len, int cmd, caddr_t arg, int attr, int mask)
{
    return (int)hr_call(SYS_memcntl, (long)addr, (long)len, cmd, (long)arg, attr, mask);
}
