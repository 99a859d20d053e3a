// SPDX-License-Identifier: MIT
/*
 * fsio.c - how a file system uses a disk: kinds of file work, the time of each and the requests to the disk.
 *
 * THEORY      Before each kind of work, all that was written before is on the disk.  Kinds that read begin with a newly
 *             mounted file system, so nothing is in memory.  Kinds use files that earlier kinds made.  So with -k
 *             choose those, too: read, random and overwrite need write; readfiles and remove need create.
 * OUTPUT      result: bench=fsio row=KIND seconds= reads= read_kib= writes= write_kib=, counted in /proc/diskstats
 * SEE ALSO    make experiment-beside, docs/ext.md
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    fsio - what a file system makes of a disk: kinds of file work\n"
    "\n"
    "SYNOPSIS\n"
    "    fsio [-k kind]... [-d divisor] device directory\n"
    "\n"
    "DESCRIPTION\n"
    "    Mounts the device on the directory, does each kind of work, and prints\n"
    "    its time and what the disk was asked for.  Kinds: write, read,\n"
    "    tworeaders, random, overwrite, append, datasync, create, readfiles,\n"
    "    replace, map, remove, removebig.  Some need files of earlier ones: read,\n"
    "    random and overwrite those of write, readfiles and remove those of\n"
    "    create.\n"
    "\n"
    "OPTIONS\n"
    "    -d divisor    divide sizes and counts by this (1)\n"
    "    -k kind       this kind only; may be repeated\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    beside, iocost, docs/ext.md\n";

#define PIECE   4096
#define FOLDERS 10
#define KINDS   16

struct counts {
    double seconds;
    long reads, read_sectors, writes, write_sectors;
};

static const char *device, *directory;
static int divisor = 1;
static char block[65536];

static void must(bool ok, const char *what)
{
    if (!ok)
        bench_die("%s: %s", what, strerror(errno));
}

static int count_of(int n)
{
    return n / divisor > 0 ? n / divisor : 1;
}

static const char *path_of(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s/%s", directory, name);
    return path;
}

static int open_file(const char *name, int flags)
{
    char path[512];
    int fd = open(path_of(path, sizeof path, name), flags, 0644);

    must(fd >= 0, path);
    return fd;
}

static void mount_it(void)
{
    must(mount(device, directory, "ext3", 0, "") == 0, device);
}

static void mount_anew(void)
{
    sync();
    must(umount(directory) == 0, directory);
    mount_it();
}

static struct counts now(void)
{
    struct counts c = {.seconds = bench_now()};
    const char *name = strrchr(device, '/') + 1;
    FILE *file = fopen("/proc/diskstats", "re");
    char line[512], disk[64];
    long r, rs, w, ws;

    must(file != NULL, "/proc/diskstats");
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%*d %*d %63s %ld %*d %ld %*d %ld %*d %ld", disk, &r, &rs, &w, &ws) == 5 &&
            strcmp(disk, name) == 0)
            c = (struct counts){c.seconds, r, rs, w, ws};
    fclose(file);
    return c;
}

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static int pieces(void) /* of the large file: 32 MiB */
{
    return count_of(8192);
}

static void write_pieces(const char *name, int n)
{
    int fd = open_file(name, O_RDWR | O_CREAT);

    for (int i = 0; i < n; i++)
        must(write(fd, block, PIECE) == PIECE, name);
    must(fsync(fd) == 0, name);
    close(fd);
}

static void read_pieces(const char *name, int n)
{
    char buf[PIECE];
    int fd = open_file(name, O_RDONLY);

    for (int i = 0; i < n && read(fd, buf, PIECE) > 0; i++)
        ;
    close(fd);
}

static void do_write(void)
{
    write_pieces("big", pieces());
}

static void do_read(void)
{
    read_pieces("big", pieces());
}

static void make_second(void)
{
    write_pieces("big2", count_of(3072));
    mount_anew();
}

static void *read_part(void *name)
{
    read_pieces(name, count_of(3072));
    return NULL;
}

static void do_two_readers(void)
{
    pthread_t threads[2];

    must(pthread_create(&threads[0], NULL, read_part, "big") == 0, "thread");
    must(pthread_create(&threads[1], NULL, read_part, "big2") == 0, "thread");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void *read_random(void *number)
{
    unsigned state = (unsigned)(long)number * 7919 + 1;
    char buf[PIECE];
    int fd = open_file("big", O_RDONLY);

    for (int i = 0; i < count_of(60); i++)
        must(pread(fd, buf, PIECE, (off_t)(next_random(&state) % (unsigned)pieces()) * PIECE) ==
                 PIECE,
             "big");
    close(fd);
    return NULL;
}

static void do_random(void)
{
    pthread_t threads[4];

    for (long i = 0; i < 4; i++)
        must(pthread_create(&threads[i], NULL, read_random, (void *)i) == 0, "thread");
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void do_overwrite(void)
{
    unsigned state = 5;
    int fd = open_file("big", O_RDWR);

    for (int i = 0; i < count_of(300); i++)
        must(pwrite(fd, block, PIECE, (off_t)(next_random(&state) % (unsigned)pieces()) * PIECE) ==
                 PIECE,
             "big");
    must(fsync(fd) == 0, "big");
    close(fd);
}

static void do_append(void)
{
    int fd = open_file("log", O_RDWR | O_CREAT | O_APPEND);

    for (int i = 0; i < count_of(50); i++)
        must(write(fd, block, PIECE) == PIECE && fsync(fd) == 0, "log");
    close(fd);
}

static void do_datasync(void)
{
    int fd = open_file("log", O_RDWR | O_CREAT);

    for (int i = 0; i < count_of(50); i++)
        must(pwrite(fd, block, PIECE, (off_t)i * PIECE) == PIECE && fdatasync(fd) == 0, "log");
    close(fd);
}

static void do_create(void)
{
    char name[64], path[512];

    for (int d = 0; d < FOLDERS; d++) {
        snprintf(name, sizeof name, "d%d", d);
        must(mkdir(path_of(path, sizeof path, name), 0755) == 0, path);
        for (int i = 0; i < count_of(50); i++) {
            int fd;
            long size = PIECE * (1 + i % 4);

            snprintf(name, sizeof name, "d%d/f%d", d, i);
            fd = open_file(name, O_WRONLY | O_CREAT);
            must(write(fd, block, (size_t)size) == size, name);
            close(fd);
        }
    }
    sync();
}

static void do_read_files(void)
{
    char name[300], path[512];

    for (int d = 0; d < FOLDERS; d++) {
        struct dirent *entry;
        DIR *folder;

        snprintf(name, sizeof name, "d%d", d);
        folder = opendir(path_of(path, sizeof path, name));
        must(folder != NULL, path);
        while ((entry = readdir(folder)) != NULL)
            if (entry->d_name[0] != '.') {
                snprintf(name, sizeof name, "d%d/%s", d, entry->d_name);
                read_pieces(name, 16);
            }
        closedir(folder);
    }
}

static void do_replace(void)
{
    char from[512], to[512];
    int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    must(folder >= 0, directory);
    for (int i = 0; i < count_of(20); i++) {
        write_pieces("new", 1);
        must(rename(path_of(from, sizeof from, "new"), path_of(to, sizeof to, "kept")) == 0, to);
        must(fsync(folder) == 0, directory);
    }
    close(folder);
}

static void do_map(void)
{
    size_t size = (size_t)count_of(2048) * PIECE;
    int fd = open_file("map", O_RDWR | O_CREAT);
    char *map;

    must(ftruncate(fd, (off_t)size) == 0, "map");
    map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(map != MAP_FAILED, "map");
    for (size_t i = 0; i < size; i += PIECE)
        map[i] = 1;
    must(msync(map, size, MS_SYNC) == 0, "map");
    munmap(map, size);
    close(fd);
}

static void do_remove(void)
{
    char name[64], path[512];

    for (int d = 0; d < FOLDERS; d++) {
        for (int i = 0; i < count_of(50); i++) {
            snprintf(name, sizeof name, "d%d/f%d", d, i);
            must(unlink(path_of(path, sizeof path, name)) == 0, path);
        }
        snprintf(name, sizeof name, "d%d", d);
        must(rmdir(path_of(path, sizeof path, name)) == 0, path);
    }
    sync();
}

static void do_remove_big(void)
{
    char path[512];

    must(unlink(path_of(path, sizeof path, "big")) == 0, path);
    sync();
}

static const struct kind {
    const char *name;
    void (*work)(void);
    void (*before)(void); /* preparation that is not counted */
} kinds[] = {
    {"write", do_write, NULL},
    {"read", do_read, mount_anew},
    {"tworeaders", do_two_readers, make_second},
    {"random", do_random, mount_anew},
    {"overwrite", do_overwrite, NULL},
    {"append", do_append, NULL},
    {"datasync", do_datasync, NULL},
    {"create", do_create, NULL},
    {"readfiles", do_read_files, mount_anew},
    {"replace", do_replace, NULL},
    {"map", do_map, NULL},
    {"remove", do_remove, NULL},
    {"removebig", do_remove_big, NULL},
};

static void run(const struct kind *kind)
{
    struct counts a, b;

    sync();
    if (kind->before != NULL)
        kind->before();
    a = now();
    kind->work();
    b = now();
    printf("result: bench=fsio row=%s seconds=%.3f reads=%ld read_kib=%ld writes=%ld "
           "write_kib=%ld\n",
           kind->name, b.seconds - a.seconds, b.reads - a.reads,
           (b.read_sectors - a.read_sectors) / 2, b.writes - a.writes,
           (b.write_sectors - a.write_sectors) / 2);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *wanted[KINDS];
    int opt, n = 0;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "k:d:")) != -1) {
        if (opt == 'k' && n < KINDS)
            wanted[n++] = optarg;
        else if (opt == 'd')
            divisor = bench_int(optarg, 1, 50, "-d");
        else
            optind = argc;
    }
    if (optind != argc - 2 || strrchr(argv[optind], '/') == NULL) {
        hr_usage(help);
        return 2;
    }
    device = argv[optind];
    directory = argv[optind + 1];
    memset(block, 0x5a, sizeof block);
    mkdir(directory, 0755);
    mount_it();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool chosen = n == 0;

        for (int k = 0; k < n; k++)
            chosen |= strcmp(wanted[k], kinds[i].name) == 0;
        if (chosen)
            run(&kinds[i]);
    }
    must(umount(directory) == 0, directory);
    return 0;
}
