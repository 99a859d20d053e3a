// SPDX-License-Identifier: MIT
/*
 * t_fsrace.c - many processes and threads at the same files, and what only root can test.
 *
 * THEORY      Each test does so much at once, in a random but repeatable order, that a missing lock shows as a wrong
 *             count, a lock too many as a test that does not end, and a lost wake-up as a test that sleeps for ever.
 */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static unsigned seed;

static unsigned below(unsigned n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

static void enter_directory(void)
{
    static char name[] = "/tmp/t_fsrace.XXXXXX";

    EXPECT(mkdtemp(name) != NULL);
    EXPECT_EQ(chdir(name), 0);
}

/* Starts n children that run fn(i).  Waits for them; all must end with status 0. */
static void children(int n, void (*fn)(int))
{
    int status;

    for (int i = 0; i < n; i++) {
        pid_t pid = fork();

        EXPECT(pid >= 0);
        if (pid == 0) {
            seed = (unsigned)i * 7919 + 1;
            fn(i);
            _exit(0);
        }
    }
    for (int i = 0; i < n; i++) {
        EXPECT(wait(&status) > 0);
        EXPECT_EQ(status, 0);
    }
}

/* ---- names ---- */
static const char *const places[] = {"a",     "b",     "a/a",   "a/b",   "b/a",    "b/b",
                                     "a/a/a", "a/b/a", "b/a/b", "b/b/b", "a/a/a/a"};

static const char *place(void)
{
    return places[below(sizeof places / sizeof places[0])];
}

static void change_names(int who)
{
    struct stat st;

    for (int i = 0; i < 1500; i++) {
        const char *p = place(), *q = place();
        DIR *d;
        int fd;

        switch (below(8)) {
        case 0:
        case 1:
            mkdir(p, 0755);
            break;
        case 2:
            rmdir(p);
            break;
        case 3:
        case 4:
            rename(p, q);
            break;
        case 5:
            fd = open(p, O_CREAT | O_RDWR, 0644);
            if (fd >= 0) {
                EXPECT_EQ(write(fd, p, 1), 1);
                close(fd);
            }
            break;
        case 6:
            if (below(2))
                unlink(p);
            else
                link(p, q);
            break;
        case 7:
            if ((d = opendir(p)) != NULL) {
                while (readdir(d) != NULL)
                    ;
                closedir(d);
            }
            stat(q, &st);
            break;
        }
    }
}

/* Removes everything below the working directory. */
static void empty(void)
{
    struct dirent *e;
    DIR *d = opendir(".");

    EXPECT(d != NULL);
    while ((e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlink(e->d_name) == 0)
            continue;
        EXPECT_EQ(chdir(e->d_name), 0);
        empty();
        EXPECT_EQ(chdir(".."), 0);
        EXPECT_EQ(rmdir(e->d_name), 0);
    }
    closedir(d);
}

static void names_at_once(void)
{
    struct stat st;

    enter_directory();
    children(6, change_names);
    empty();
    EXPECT_EQ(stat(".", &st), 0);
    EXPECT_EQ(st.st_nlink, 2);
}

static void create_exclusively(int who)
{
    static unsigned won;
    char name[16];

    for (int i = 0; i < 500; i++) {
        int fd;

        sprintf(name, "f%d", i);
        fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_APPEND, 0644);
        if (fd >= 0) {
            won++;
            close(fd);
        } else {
            EXPECT_EQ(errno, EEXIST);
        }
        fd = open("winners", O_WRONLY | O_APPEND);
        if (i == 499) {
            EXPECT_EQ(write(fd, &won, sizeof won), sizeof won);
        }
        close(fd);
    }
}

static void one_creator(void)
{
    unsigned n[4], sum = 0;
    int fd;

    enter_directory();
    fd = open("winners", O_CREAT | O_RDWR, 0644);
    children(4, create_exclusively);
    EXPECT_EQ(read(fd, n, sizeof n), sizeof n);
    for (int i = 0; i < 4; i++)
        sum += n[i];
    EXPECT_EQ(sum, 500);
}

/* ---- data ---- */
enum { RECORD = 100, RECORDS = 300 };

static void append_records(int who)
{
    char rec[RECORD];
    int fd = open("log", O_WRONLY | O_APPEND);

    memset(rec, 'a' + who, sizeof rec);
    for (int i = 0; i < RECORDS; i++)
        EXPECT_EQ(write(fd, rec, sizeof rec), sizeof rec);
}

static void appends_are_whole(void)
{
    int fd, count[4] = {0};
    char rec[RECORD];

    enter_directory();
    fd = open("log", O_CREAT | O_RDWR, 0644);
    children(4, append_records);
    while (read(fd, rec, sizeof rec) == (long)sizeof rec) {
        for (int i = 1; i < RECORD; i++)
            EXPECT_EQ(rec[i], rec[0]);
        count[rec[0] - 'a']++;
    }
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(count[i], RECORDS);
}

static void mapping_and_file_agree(void)
{
    char *m, c = 0;
    int fd;

    enter_directory();
    fd = open("f", O_CREAT | O_RDWR, 0644);
    EXPECT_EQ(ftruncate(fd, 3 * 4096 + 10), 0);
    m = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(m != MAP_FAILED);
    m[5] = 1;
    EXPECT_EQ(pread(fd, &c, 1, 5), 1);
    EXPECT_EQ(c, 1);
    c = 2;
    EXPECT_EQ(pwrite(fd, &c, 1, 4096), 1);
    EXPECT_EQ(m[4096], 2);
    EXPECT_EQ(m[8192], 0);
    EXPECT_EQ(write(fd, m + 4096, 4096), 4096); /* from a mapping of the same file */
    EXPECT_EQ(m[0], 2);
    m[3 * 4096 + 9] = 9;
    EXPECT_EQ(ftruncate(fd, 4096), 0);
    EXPECT_EQ(ftruncate(fd, 4 * 4096), 0);
    EXPECT_EQ(m[3 * 4096 + 9], 0);
    EXPECT_EQ(m[4096], 0);
    close(fd);
    EXPECT_EQ(unlink("f"), 0);
    m[4097] = 3; /* the file exists as long as it is mapped */
    EXPECT_EQ(m[4097], 3);
}

static void beyond_the_end(void)
{
    int status, fd;
    pid_t pid;

    enter_directory();
    fd = open("f", O_CREAT | O_RDWR, 0644);
    pid = fork();
    if (pid == 0) {
        char *m;

        ftruncate(fd, 8192);
        m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        m[4096] = 1;
        ftruncate(fd, 4096);
        m[4096] = 1;
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

/* ---- descriptors ---- */
static void *open_and_close(void *arg)
{
    char c;

    for (int i = 0; i < 2000; i++) {
        int fd = open("/dev/zero", O_RDONLY);

        EXPECT(fd >= 0);
        EXPECT_EQ(read(fd, &c, 1), 1);
        close(fd);
    }
    return NULL;
}

static void *look_at_descriptors(void *arg)
{
    struct stat st;
    char c;

    for (int i = 0; i < 6000; i++) {
        int fd = 3 + i % 8;

        if (read(fd, &c, 1) == 1) {
            EXPECT_EQ(c, 0);
        } else {
            EXPECT_EQ(errno, EBADF);
        }
        fstat(fd, &st);
    }
    return NULL;
}

static void shared_descriptors(void)
{
    pthread_t t[6];

    for (int fd = 3; fd < 16; fd++)
        close(fd); /* an inherited descriptor may be a terminal */
    for (int i = 0; i < 6; i++)
        EXPECT_EQ(pthread_create(&t[i], NULL, i < 4 ? open_and_close : look_at_descriptors, NULL),
                  0);
    for (int i = 0; i < 6; i++)
        EXPECT_EQ(pthread_join(t[i], NULL), 0);
}

/* ---- pipes ---- */
static int ends[2], back[2];

static void use_pipe(int who)
{
    unsigned rec[8];

    if (who >= 4) { /* a reader: sums what it receives */
        unsigned long sum = 0;

        close(ends[1]);
        while (read(ends[0], rec, sizeof rec) == (long)sizeof rec)
            for (int i = 0; i < 8; i++)
                sum += rec[i];
        EXPECT_EQ(write(back[1], &sum, sizeof sum), sizeof sum);
        return;
    }
    close(ends[0]);
    for (unsigned k = 0; k < 1000; k++) {
        for (int i = 0; i < 8; i++)
            rec[i] = k;
        EXPECT_EQ(write(ends[1], rec, sizeof rec), sizeof rec);
    }
    close(ends[1]);
}

static void many_at_one_pipe(void)
{
    unsigned long sum = 0, part;
    pid_t pid;
    int status;

    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(pipe(back), 0);
    pid = fork(); /* a child, so that the process that waits has no end of the pipe open */
    if (pid == 0) {
        for (int i = 0; i < 7; i++)
            if (fork() == 0) {
                use_pipe(i);
                _exit(0);
            }
        close(ends[0]);
        close(ends[1]);
        for (int i = 0; i < 7; i++) {
            EXPECT(wait(&status) > 0);
            EXPECT_EQ(status, 0);
        }
        _exit(0);
    }
    close(ends[0]);
    close(ends[1]);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(read(back[0], &part, sizeof part), sizeof part);
        sum += part;
    }
    EXPECT_EQ(sum, 4ul * 8 * 999 * 1000 / 2);
}

static void poll_loses_nothing(void)
{
    struct pollfd p[3];
    int q[3][2];
    pid_t pid;
    char c;

    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(pipe(q[i]), 0);
        p[i] = (struct pollfd){.fd = q[i][0], .events = POLLIN};
    }
    EXPECT_EQ(pipe(back), 0);
    pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 1000; i++) {
            EXPECT_EQ(write(q[i % 3][1], "x", 1), 1);
            if (i % 7 == 0) {
                EXPECT_EQ(read(back[0], &c, 1), 1);
            }
        }
        _exit(0);
    }
    for (int got = 0; got < 1000;) {
        EXPECT(poll(p, 3, -1) > 0);
        for (int i = 0; i < 3; i++)
            if (p[i].revents & POLLIN) {
                EXPECT_EQ(read(p[i].fd, &c, 1), 1);
                if (got % 7 == 0) {
                    EXPECT_EQ(write(back[1], "y", 1), 1);
                }
                got++;
            }
    }
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
}

static void fifos_meet(void)
{
    char c = 0;
    pid_t pid;

    enter_directory();
    EXPECT_EQ(mkfifo("f", 0644), 0);
    EXPECT_EQ(pipe(back), 0);
    pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 200; i++) {
            int fd = open("f", O_WRONLY);

            EXPECT(fd >= 0);
            EXPECT_EQ(write(fd, "z", 1), 1);
            close(fd);
            /* bytes written before this would be lost when the reader closes */
            EXPECT_EQ(read(back[0], &c, 1), 1);
        }
        _exit(0);
    }
    for (int n = 0; n < 200;) {
        int fd = open("f", O_RDONLY);

        EXPECT(fd >= 0);
        while (read(fd, &c, 1) == 1)
            n++;
        close(fd);
        EXPECT_EQ(write(back[1], "a", 1), 1);
    }
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
}

/* ---- tests that need root ---- */
static void no_space(void)
{
    static char page[4096];
    int fd, n = 0;

    enter_directory();
    EXPECT_EQ(mkdir("m", 0755), 0);
    if (mount("none", "m", "tmpfs", 0, "size=64k") != 0)
        SKIP("mounting is not allowed here");
    for (int again = 0; again < 3; again++) {
        fd = open("m/f", O_CREAT | O_RDWR, 0644);
        EXPECT(fd >= 0);
        for (n = 0; write(fd, page, sizeof page) == (long)sizeof page; n++)
            ;
        EXPECT_EQ(errno, ENOSPC);
        EXPECT_EQ(n, 16);
        EXPECT(umount("m") == -1 && errno == EBUSY);
        EXPECT_EQ(unlink("m/f"), 0);
        EXPECT(open("m/g", O_CREAT | O_RDWR, 0644) >= 0);
        EXPECT_EQ(ftruncate(fd, 0), 0);
        close(fd);
    }
    for (int i = 3; i < 20; i++)
        close(i);
    EXPECT_EQ(umount("m"), 0);
    EXPECT_EQ(rmdir("m"), 0);
}

/* A process that asks for more than the file system has takes no room from others, not even for a moment. */
static void refused_space_stays_free(void)
{
    static char page[4096];
    int fd;
    pid_t pid;

    if (!on_homeroom())
        SKIP("Linux allocates what there is, and frees it");
    NEED_ROOT();
    enter_directory();
    EXPECT_EQ(mkdir("m", 0755), 0);
    EXPECT_EQ(mount("none", "m", "tmpfs", 0, "size=64k"), 0);
    fd = open("m/f", O_CREAT | O_RDWR, 0644);
    pid = fork();
    if (pid == 0) {
        fd = open("m/g", O_CREAT | O_RDWR, 0644);
        for (;;)
            if (fallocate(fd, 0, 0, 1 << 20) == 0 || errno != ENOSPC)
                _exit(1);
    }
    for (int round = 0; round < 20000; round++) {
        EXPECT_EQ(pwrite(fd, page, sizeof page, 0), sizeof page);
        EXPECT_EQ(ftruncate(fd, 0), 0);
    }
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
    close(fd);
    EXPECT_EQ(umount("m"), 0);
}

static void other_users(void)
{
    struct stat st;

    if (geteuid() != 0)
        SKIP("only root can become others");
    enter_directory();
    EXPECT_EQ(chmod(".", 0755), 0);
    EXPECT_EQ(mkdir("sticky", 0), 0);
    EXPECT_EQ(chmod("sticky", 01777), 0);
    EXPECT_EQ(mkdir("closed", 0700), 0);
    close(open("sticky/roots", O_CREAT | O_WRONLY, 0644));
    close(open("closed/f", O_CREAT | O_WRONLY, 0644));
    close(open("group", O_CREAT | O_WRONLY, 0640));
    EXPECT_EQ(chown("group", 0, 2000), 0);
    EXPECT_EQ(setgid(2000), 0);
    EXPECT_EQ(setuid(1000), 0);
    EXPECT_ERR(open("new", O_CREAT | O_WRONLY, 0644), EACCES);
    EXPECT_ERR(open("closed/f", O_RDONLY), EACCES);
    EXPECT_ERR(open("group", O_WRONLY), EACCES);
    EXPECT(open("group", O_RDONLY) >= 0);
    EXPECT(unlink("sticky/roots") == -1);
    EXPECT(rename("sticky/roots", "sticky/mine") == -1);
    EXPECT_ERR(chmod("group", 0777), EPERM);
    EXPECT_ERR(chown("group", 1000, -1), EPERM);
    close(open("sticky/mine", O_CREAT | O_WRONLY, 0644));
    EXPECT_EQ(stat("sticky/mine", &st), 0);
    EXPECT_EQ(st.st_uid, 1000);
    EXPECT_EQ(st.st_gid, 2000);
    EXPECT_ERR(mknod("sticky/dev", S_IFCHR | 0666, 0x103), EPERM);
    EXPECT_EQ(chmod("sticky/mine", 04755), 0);
    EXPECT_EQ(unlink("sticky/mine"), 0);
}

static const struct check list[] = {
    {"names_at_once", names_at_once},
    {"one_creator", one_creator},
    {"appends_are_whole", appends_are_whole},
    {"mapping_and_file_agree", mapping_and_file_agree},
    {"beyond_the_end", beyond_the_end},
    {"shared_descriptors", shared_descriptors},
    {"many_at_one_pipe", many_at_one_pipe},
    {"poll_loses_nothing", poll_loses_nothing},
    {"fifos_meet", fifos_meet},
    {"no_space", no_space},
    {"refused_space_stays_free", refused_space_stays_free},
    {"other_users", other_users},
};
CHECK_MAIN(list)
