// SPDX-License-Identifier: MIT
/*
 * dontneed.c - posix_fadvise(POSIX_FADV_DONTNEED) on a file of a disk: dontneed FILE.  Prints how many of its 16 pages
 * are in memory: after fsync, after the advice for the first half, and after the advice for all.  Checks their
 * contents, too.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 16

/* Pages of the file in memory, through a mapping that has touched none of them. */
static unsigned resident(int fd)
{
    unsigned char vec[PAGES];
    unsigned n = 0;
    void *p = mmap(NULL, PAGES * 4096, PROT_READ, MAP_SHARED, fd, 0);

    if (p == MAP_FAILED || mincore(p, PAGES * 4096, vec) != 0)
        exit(1);
    for (unsigned k = 0; k < PAGES; k++)
        n += vec[k] & 1;
    munmap(p, PAGES * 4096);
    return n;
}

int main(int argc, char **argv)
{
    static char data[PAGES * 4096], back[PAGES * 4096];
    int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;

    memset(data, 'd', sizeof data);
    if (fd < 0 || write(fd, data, sizeof data) != sizeof data || fsync(fd) != 0)
        return 1;
    printf("%u", resident(fd));
    posix_fadvise(fd, 100, 8 * 4096, POSIX_FADV_DONTNEED); /* contains seven whole pages */
    printf(" %u", resident(fd));
    data[5] = data[9 * 4096] = 'e';
    if (pwrite(fd, data, 10 * 4096, 0) != 10 * 4096)
        return 1;
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* starts the writing of dirty pages */
    if (fsync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        return 1;
    printf(" %u\n", resident(fd));
    return pread(fd, back, sizeof back, 0) != sizeof back || memcmp(data, back, sizeof data) != 0;
}
