// SPDX-License-Identifier: MIT
/*
 * disk.c - attacks on a disk and on the memory that holds its files: /dev/vda has an ext3 file system.
 *
 * SEE ALSO    attack.h
 */
#include "attack.h"

#include <sys/mount.h>

enum { READERS = 64, FILE_PAGES = 2048, LOOKS = 40, LOCKERS = 31, LOCKED = 7 * MIB / 2 };

static const char folder[] = "/mnt/attack", users[] = "/mnt/attack/users",
                  roots[] = "/mnt/attack/roots";

static bool make_file(const char *path, uid_t uid)
{
    static char page[PAGE];
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
    bool well = fd >= 0 && fchown(fd, uid, uid) == 0;

    for (int i = 0; well && i < FILE_PAGES; i++)
        well = write(fd, page, PAGE) == PAGE;
    return well && fsync(fd) == 0 && close(fd) == 0;
}

/* Mounts the disk, with a file of the user and one of root. */
static bool on_disk(void)
{
    mkdir("/mnt", 0755);
    if (access(folder, F_OK) != 0 && mount("/dev/vda", "/mnt", "ext3", 0, NULL) != 0)
        return false;
    return (mkdir(folder, 0777) == 0 || errno == EEXIST) && chmod(folder, 0777) == 0 &&
           make_file(users, USER) && make_file(roots, 0);
}

/* Reads a page from the disk, not from memory. */
static bool read_cold(int fd, unsigned page)
{
    static char buf[PAGE];
    off_t at = (off_t)(page % FILE_PAGES) * PAGE;

    return posix_fadvise(fd, at, PAGE, POSIX_FADV_DONTNEED) == 0 &&
           pread(fd, buf, PAGE, at) == PAGE;
}

static bool many_readers(void)
{
    for (int n = 0; n < READERS; n++)
        if (fork() == 0) {
            int fd = open(users, O_RDONLY);

            posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
            for (unsigned i = (unsigned)n * 31;; i += 613)
                if (!read_cold(fd, i))
                    _exit(1);
        }
    answer("goes on");
    sleep(1);
    return users_processes() <= READERS;
}

static unsigned long commands(void)
{
    unsigned long reads, writes;
    char line[256];
    FILE *f = fopen("/proc/diskstats", "r");
    unsigned long n = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strstr(line, " vda ") != NULL &&
            sscanf(line, "%*u %*u %*s %lu %*u %*u %*u %lu", &reads, &writes) == 2)
            n = reads + writes;
    if (f != NULL)
        fclose(f);
    return n;
}

/* Root reads pages one by one.  true: more than a few commands of others come before each. */
static bool root_stands_in_line(void)
{
    int fd = open(roots, O_RDONLY);
    unsigned long all = 0;

    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    for (unsigned i = 0; i < LOOKS; i++) {
        unsigned long before = commands();

        if (!read_cold(fd, i * 97))
            return true;
        all += commands() - before;
    }
    close(fd);
    printf("  %.1f commands until a read of root's ends\n", (double)all / LOOKS);
    return all > 10 * LOOKS;
}

static bool locked_files(void)
{
    unsigned locked = 0;

    for (int n = 0; n < LOCKERS; n++) {
        int ready[2];
        char yes = 0;

        if (pipe(ready) != 0)
            break;
        if (fork() == 0) {
            struct rlimit all = {LOCKED, LOCKED};
            int fd = open(users, O_RDONLY);
            void *p = mmap(NULL, LOCKED, PROT_READ, MAP_SHARED, fd, 0);

            setrlimit(RLIMIT_MEMLOCK, &all);
            yes = p != MAP_FAILED && mlock(p, LOCKED) == 0;
            if (write(ready[1], &yes, 1) == 1)
                for (;;)
                    pause();
            _exit(0);
        }
        close(ready[1]);
        if (read(ready[0], &yes, 1) == 1)
            locked += (unsigned)yes;
        close(ready[0]);
    }
    answer("%s", locked != 0 ? "some lock it" : "none can");
    return false;
}

/* A file of holes: each page that is read takes a frame. */
static bool sparse_file(void)
{
    size_t size = (size_t)512 * MIB;
    int fd = open("/mnt/attack/sparse", O_CREAT | O_RDWR, 0600);
    volatile char *p;

    if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
        return allowed("sparse", -1);
    unlink("/mnt/attack/sparse");
    p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    tried("mmap", p == MAP_FAILED ? -1 : 0);
    for (size_t at = 0; p != MAP_FAILED && at < size; at += PAGE)
        (void)p[at];
    return false;
}

static const struct attack list[] = {
    {"many_readers", "64 processes that read here and there", many_readers, root_stands_in_line,
     on_disk},
    {"locked_files", "31 processes that lock 3.5 MiB of a file", locked_files, NULL, on_disk},
    {"sparse_file", "512 MiB of holes in memory", sparse_file, NULL, on_disk},
};
ATTACK_MAIN(list)
