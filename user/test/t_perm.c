// SPDX-License-Identifier: MIT
/*
 * t_perm.c - permissions: set-id bits, links of others, other users' processes, ports, O_PATH, mount flags.  Most tests
 * begin as root and go on as an ordinary user.
 */
#include "check.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <uapi/homeroom.h>

enum { USER = 1000, OTHER = 2000, GROUP = 50 };

/* Makes and enters a directory that all users may enter. */
static void enter_directory(void)
{
    char name[] = "/tmp/t_perm.XXXXXX";

    EXPECT(mkdtemp(name) != NULL);
    EXPECT_EQ(chmod(name, 0755), 0);
    EXPECT_EQ(chdir(name), 0);
    umask(0);
}

static void become(uid_t uid)
{
    EXPECT_EQ(setgroups(0, NULL), 0);
    EXPECT_EQ(setresgid(uid, uid, uid), 0);
    EXPECT_EQ(setresuid(uid, uid, uid), 0);
}

static unsigned mode_of(const char *name)
{
    struct stat st;

    EXPECT_EQ(lstat(name, &st), 0);
    return st.st_mode & 07777;
}

/* The value of a setting of Linux; on Homeroom it is always `here`. */
static int setting(const char *file, int here)
{
    FILE *f = on_homeroom() ? NULL : fopen(file, "r");
    int v = here;

    if (f != NULL && fscanf(f, "%d", &v) != 1)
        v = 0;
    return f != NULL || on_homeroom() ? v : 0;
}

/* ---- O_PATH descriptors ---- */

static void only_a_path(void)
{
    struct flock l = {.l_type = F_RDLCK};
    struct pollfd pfd = {.events = POLLIN};
    struct epoll_event ev = {.events = EPOLLIN};
    struct stat st;
    struct statfs sfs;
    char c;
    int fd, dir, n;

    enter_directory();
    close(open("a", O_CREAT | O_WRONLY, 0644));
    fd = pfd.fd = open("a", O_PATH);
    dir = open(".", O_PATH);
    EXPECT(fd >= 0 && dir >= 0);
    EXPECT_ERR(read(fd, &c, 1), EBADF);
    EXPECT_ERR(write(fd, "x", 1), EBADF);
    EXPECT_ERR(pread(fd, &c, 1, 0), EBADF);
    EXPECT_ERR(lseek(fd, 0, SEEK_SET), EBADF);
    EXPECT_ERR(syscall(SYS_fchmod, fd, 0600), EBADF);
    EXPECT_ERR(syscall(SYS_fchown, fd, 0, 0), EBADF); /* the C library's function would use /proc */
    EXPECT_ERR(ftruncate(fd, 0), EBADF);
    EXPECT_ERR(syscall(SYS_fallocate, fd, 0, 0L, 1L), EBADF);
    EXPECT_ERR(syscall(SYS_utimensat, fd, NULL, NULL, 0), EBADF);
    EXPECT_ERR(fsync(fd), EBADF);
    EXPECT_ERR(fdatasync(fd), EBADF);
    EXPECT_ERR(flock(fd, LOCK_SH), EBADF);
    EXPECT_ERR(fcntl(fd, F_GETLK, &l), EBADF);
    EXPECT_ERR(fcntl(fd, F_SETLK, &l), EBADF);
    EXPECT_ERR(fcntl(fd, F_SETFL, 0), EBADF);
    EXPECT_ERR(ioctl(fd, FIONREAD, &n), EBADF);
    EXPECT_ERR(syscall(SYS_getdents64, dir, &st, sizeof st), EBADF);
    EXPECT_ERR(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0, EBADF);
    EXPECT_ERR(epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, fd, &ev), EBADF);
    EXPECT_EQ(poll(&pfd, 1, 0), 1);
    EXPECT_EQ(pfd.revents, POLLNVAL);
    /* these calls work */
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(fstatfs(fd, &sfs), 0);
    EXPECT(fcntl(fd, F_GETFL) & O_PATH);
    EXPECT_EQ(fcntl(fd, F_GETFD), 0);
    EXPECT(dup(fd) >= 0);
    EXPECT_EQ(fchdir(dir), 0);
    EXPECT(openat(dir, "a", O_RDONLY) >= 0);
}

/* ---- set-id bits ------------------------------------------------------------------------------ */

static void set_gid_rules(void)
{
    struct stat st;
    int fd;

    NEED_ROOT();
    enter_directory();
    EXPECT_EQ(mkdir("d", 0), 0);
    EXPECT_EQ(chown("d", 0, GROUP), 0);
    EXPECT_EQ(chmod("d", 02777), 0);
    become(USER);
    /* a new file has the directory's group, and no set-gid bit if the user is not in that group */
    fd = open("d/f", O_CREAT | O_RDWR, 06777);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_gid, GROUP);
    EXPECT_EQ(st.st_mode & 07777, 04777);
    EXPECT_EQ(mkdir("d/sub", 0777), 0);
    EXPECT_EQ(mode_of("d/sub"), 02777);
    EXPECT_EQ(chmod("d/f", 02777), 0);
    EXPECT_EQ(mode_of("d/f"), 0777);
    EXPECT_EQ(chmod("d/sub", 02755), 0);
    EXPECT_EQ(mode_of("d/sub"), 0755);
    /* a change of the contents */
    EXPECT_EQ(chmod("d/f", 04755), 0);
    EXPECT_EQ(write(fd, "x", 1), 1);
    EXPECT_EQ(mode_of("d/f"), 0755);
    EXPECT_EQ(chmod("d/f", 04755), 0);
    EXPECT_EQ(ftruncate(fd, 0), 0);
    EXPECT_EQ(mode_of("d/f"), 0755);
    EXPECT_EQ(chmod("d/f", 04755), 0);
    EXPECT_EQ(syscall(SYS_fallocate, fd, 0, 0L, 8192L), 0);
    EXPECT_EQ(mode_of("d/f"), 0755);
}

static void chown_takes_set_id_away(void)
{
    NEED_ROOT();
    enter_directory();
    EXPECT_EQ(chmod(".", 0777), 0);
    become(USER);
    EXPECT_EQ(mkfifo("p", 0777), 0);
    EXPECT_EQ(chmod("p", 06777), 0);
    EXPECT_EQ(chown("p", (uid_t)-1, USER), 0);
    EXPECT_EQ(mode_of("p"), 0777);
    close(open("f", O_CREAT | O_WRONLY, 0777));
    EXPECT_EQ(chmod("f", 06777), 0);
    EXPECT_EQ(chown("f", USER, (gid_t)-1), 0);
    EXPECT_EQ(mode_of("f"), 0777);
    EXPECT_EQ(mkdir("d", 0777), 0);
    EXPECT_EQ(chmod("d", 02777), 0);
    EXPECT_EQ(chown("d", USER, USER), 0);
    EXPECT_EQ(mode_of("d"), 02777); /* for a directory the bit has another meaning */
    EXPECT_ERR(chown("f", OTHER, (gid_t)-1), EPERM);
    EXPECT_ERR(chown("f", (uid_t)-1, GROUP), EPERM);
}

/* Makes a set-uid copy of this program.  Its exit status for the argument "euid" says whether it runs as root. */
static void copy_self(const char *name, mode_t mode)
{
    int in = open("/proc/self/exe", O_RDONLY), out = open(name, O_CREAT | O_WRONLY, 0755);
    static char buf[65536];
    ssize_t n;

    while ((n = read(in, buf, sizeof buf)) > 0)
        EXPECT_EQ(write(out, buf, (size_t)n), n);
    close(in);
    close(out);
    EXPECT_EQ(chown(name, 0, 0), 0);
    EXPECT_EQ(chmod(name, mode), 0);
}

/*
 * The exit status of a program that USER runs, without new privileges if `nnp`: 1 as root, 0 not, 126: cannot be run.
 */
static int run_as_user(const char *name, int nnp)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        become(USER);
        if (nnp && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
            _exit(125);
        execl(name, name, "euid", (char *)NULL);
        _exit(126);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void no_new_privileges(void)
{
    NEED_ROOT();
    enter_directory();
    copy_self("su", 04755);
    if (!on_homeroom() && run_as_user("./su", 0) != 1)
        SKIP("/tmp is nosuid");
    EXPECT_EQ(run_as_user("./su", 0), 1);
    EXPECT_EQ(run_as_user("./su", 1), 0);
    EXPECT_EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
    EXPECT_ERR(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), EINVAL);
    EXPECT_ERR(prctl(PR_SET_NO_NEW_PRIVS, 1, 1, 0, 0), EINVAL);
    EXPECT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    EXPECT_EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
    if (fork() == 0) /* for ever, and for all children */
        _exit(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    int status;

    EXPECT(wait(&status) > 0);
    EXPECT_EQ(WEXITSTATUS(status), 1);
}

/* ---- what a user prepares for a set-id program ---- */

enum { READY = 100, GO }; /* descriptors */

/* The set-uid program that each case runs.  Returns 0 if only root affects it. */
static int set_id_program(const char *what)
{
    char c;

    if (strcmp(what, "umask") == 0)
        return write(READY, "", 1) != 1 || read(GO, &c, 1) != 1 ||
               (geteuid() == 0 && umask(0) != 022);
    if (strcmp(what, "child") == 0)
        return write(READY, "", 1) != 1 || waitpid(-1, NULL, __WALL) <= 0;
    syscall(SYS_getppid);
    return geteuid() == 0;
}

static void shared_umask(void)
{
    int ready[2], go[2], status;
    char c;
    pid_t pid;

    NEED_ROOT();
    enter_directory();
    copy_self("su", 04755);
    EXPECT(pipe(ready) == 0 && pipe(go) == 0);
    umask(022);
    pid = (pid_t)syscall(SYS_clone, CLONE_FS | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        become(USER);
        dup2(ready[1], READY);
        dup2(go[0], GO);
        execl("./su", "su", "umask", (char *)NULL);
        _exit(126);
    }
    EXPECT_EQ(read(ready[0], &c, 1), 1);
    umask(0);
    EXPECT_EQ(write(go[1], "", 1), 1);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

static void signal_of_a_child(void)
{
    int ready[2], status;
    pid_t pid;

    NEED_ROOT();
    enter_directory();
    copy_self("su", 04755);
    EXPECT_EQ(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        become(USER);
        if (syscall(SYS_clone, SIGKILL, 0, 0, 0, 0) == 0) {
            char c;

            _exit(read(ready[0], &c, 1) != 1);
        }
        dup2(ready[1], READY);
        execl("./su", "su", "child", (char *)NULL);
        _exit(126);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

static void traced(void)
{
    char text[4096];
    ssize_t n, got = 0;
    int p[2], status;
    pid_t pid;

    NEED_ROOT();
    if (!on_homeroom())
        SKIP("truss");
    enter_directory();
    copy_self("su", 04755);
    EXPECT_EQ(pipe(p), 0);
    pid = fork();
    if (pid == 0) {
        become(USER);
        syscall(SYS_truss, p[1]);
        close(p[0]);
        close(p[1]);
        execl("./su", "su", "getppid", (char *)NULL);
        _exit(126);
    }
    close(p[1]);
    while ((n = read(p[0], text + got, sizeof text - 1 - (size_t)got)) > 0)
        got += n;
    text[got] = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    /* it is traced, so it has no rights that the user does not have */
    EXPECT(strstr(text, " 1 110 ") != NULL);
}

/* ---- mounts ----------------------------------------------------------------------------------- */

static void mount_flags(void)
{
    int fd;

    NEED_ROOT();
    enter_directory();
    EXPECT_EQ(mkdir("m", 0755), 0);
    if (mount("none", "m", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0777") != 0 && !on_homeroom())
        SKIP("may not mount here");
    copy_self("m/su", 04755);
    EXPECT_EQ(run_as_user("m/su", 0), 0);
    EXPECT_EQ(mknod("m/null", S_IFCHR | 0666, makedev(1, 3)), 0);
    EXPECT_ERR(open("m/null", O_RDWR), EACCES);
    EXPECT_ERR(umount2("m", 0x100), EINVAL);
    EXPECT_ERR(umount2("m", MNT_EXPIRE | MNT_FORCE), EINVAL);
    EXPECT_EQ(umount2("m", 0), 0);
    EXPECT_ERR(umount2("m", 0), EINVAL);
    EXPECT_EQ(mount("none", "m", "tmpfs", MS_NOEXEC, "mode=0777"), 0);
    copy_self("m/x", 0755);
    EXPECT_EQ(run_as_user("m/x", 0), 126);
    EXPECT_ERR(execl("m/x", "m/x", (char *)NULL), EACCES);
    fd = open("m/x", O_RDONLY);
    EXPECT_ERR(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0,
               EPERM);
    close(fd);
    EXPECT_EQ(mount("none", "m", NULL, MS_REMOUNT, NULL), 0);
    EXPECT_EQ(run_as_user("m/x", 0), 0);
    EXPECT_EQ(umount2("m", 0), 0);
    if (on_homeroom()) /* Linux does some of these, and ignores the others */
        for (unsigned long bit = 1; bit < 1ul << 31; bit <<= 1)
            if (bit & (MS_MANDLOCK | MS_DIRSYNC | MS_BIND | MS_MOVE | MS_REC | 1ul << 8 | 1ul << 9 |
                       1ul << 25))
                EXPECT_ERR(mount("none", "m", "tmpfs", bit, NULL), EINVAL);
}

/* ---- other users' files ----------------------------------------------------------------------- */

static void hard_links_to_others(void)
{
    NEED_ROOT();
    if (setting("/proc/sys/fs/protected_hardlinks", 1) != 1)
        SKIP("allowed here");
    enter_directory();
    EXPECT_EQ(chmod(".", 0777), 0);
    close(open("roots", O_CREAT | O_WRONLY, 0644));
    close(open("open", O_CREAT | O_WRONLY, 0666));
    close(open("suid", O_CREAT | O_WRONLY, 0));
    EXPECT_EQ(chmod("suid", 04777), 0);
    EXPECT_EQ(mkfifo("fifo", 0666), 0);
    become(USER);
    close(open("mine", O_CREAT | O_WRONLY, 0400));
    EXPECT_ERR(link("roots", "l"), EPERM);
    EXPECT_ERR(link("suid", "l"), EPERM);
    EXPECT_ERR(link("fifo", "l"), EPERM);
    EXPECT_EQ(link("open", "l1"), 0);
    EXPECT_EQ(link("mine", "l2"), 0);
}

static void links_in_sticky_directories(void)
{
    NEED_ROOT();
    if (setting("/proc/sys/fs/protected_symlinks", 1) != 1)
        SKIP("followed here");
    enter_directory();
    EXPECT_EQ(mkdir("t", 0777), 0);
    EXPECT_EQ(chmod("t", 01777), 0);
    EXPECT_EQ(mkdir("plain", 0777), 0);
    close(open("target", O_CREAT | O_WRONLY, 0666));
    EXPECT_EQ(symlink("../target", "t/roots"), 0);
    EXPECT_EQ(symlink("../target", "t/users"), 0);
    EXPECT_EQ(lchown("t/users", USER, USER), 0);
    EXPECT_EQ(symlink("../target", "plain/users"), 0);
    EXPECT_EQ(lchown("plain/users", USER, USER), 0);
    /* for root, too, because this is what the rule protects */
    EXPECT_ERR(open("t/users", O_RDWR), EACCES);
    EXPECT(open("t/roots", O_RDWR) >= 0);
    EXPECT(open("plain/users", O_RDWR) >= 0);
    become(OTHER);
    EXPECT_ERR(open("t/users", O_RDWR), EACCES);
    EXPECT(open("t/roots", O_RDWR) >= 0); /* the owner of the directory may */
    EXPECT(open("plain/users", O_RDWR) >= 0);
    EXPECT_EQ(readlink("t/users", (char[8]){0}, 8), 8);
}

/* ---- other users' processes ------------------------------------------------------------------- */

static pid_t sleeper(uid_t uid)
{
    int ready[2];
    char c;
    pid_t pid;

    EXPECT_EQ(pipe(ready), 0);
    if ((pid = fork()) == 0) {
        become(uid);
        EXPECT_EQ(write(ready[1], "", 1), 1);
        for (;;)
            pause();
    }
    EXPECT_EQ(read(ready[0], &c, 1), 1);
    return pid;
}

/* A pipe and a socket belong to the user that made them, so a user that got one end of a pipe cannot open the other. */
static void owner_of_a_pipe(void)
{
    char name[32];
    struct stat st;
    int p[2], s;

    NEED_ROOT();
    EXPECT_EQ(pipe(p), 0);
    EXPECT((s = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", p[0]);
    EXPECT(open(name, O_WRONLY) >= 0);
    EXPECT(setegid(USER) == 0 && seteuid(USER) == 0);
    EXPECT(fstat(p[0], &st) == 0 && st.st_uid == 0 && st.st_gid == 0);
    EXPECT(stat(name, &st) == 0 && st.st_uid == 0 && st.st_gid == 0);
    EXPECT(fstat(s, &st) == 0 && st.st_uid == 0 && st.st_gid == 0);
    EXPECT_ERR(open(name, O_WRONLY), EACCES);
    EXPECT_ERR(open(name, O_RDONLY), EACCES);
    EXPECT(pipe(p) == 0 && fstat(p[1], &st) == 0 && st.st_uid == USER && st.st_gid == USER);
}

static void others_processes(void)
{
    struct sched_param sp = {0};
    struct rlimit rl;
    uint64_t mask[16];
    pid_t theirs, mine;
    long n;

    NEED_ROOT();
    EXPECT((n = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask)) > 0);
    theirs = sleeper(USER);
    mine = sleeper(OTHER);
    EXPECT_EQ(setgroups(0, NULL), 0);
    EXPECT_EQ(setresgid(USER, USER, USER), 0);
    /* The process may send signals to processes of USER, because that is its real id; but its effective id is OTHER. */
    EXPECT_EQ(setresuid(USER, OTHER, OTHER), 0);
    EXPECT_EQ(kill(theirs, 0), 0);
    EXPECT_ERR(syscall(SYS_sched_setparam, theirs, &sp), EPERM);
    EXPECT_ERR(syscall(SYS_sched_setscheduler, theirs, SCHED_BATCH, &sp), EPERM);
    EXPECT_ERR(syscall(SYS_sched_setaffinity, theirs, n, mask), EPERM);
    EXPECT_ERR(setpriority(PRIO_PROCESS, (id_t)theirs, 19), EPERM);
    EXPECT_EQ(syscall(SYS_sched_setparam, mine, &sp), 0);
    EXPECT_EQ(syscall(SYS_sched_setaffinity, mine, n, mask), 0);
    EXPECT_EQ(setpriority(PRIO_PROCESS, (id_t)mine, 19), 0);
    /* prlimit() compares the real id, which must be equal to all ids of the target */
    EXPECT_EQ(syscall(SYS_prlimit64, theirs, RLIMIT_CORE, NULL, &rl), 0);
    EXPECT_ERR(syscall(SYS_prlimit64, mine, RLIMIT_CORE, NULL, &rl), EPERM);
    EXPECT_ERR(syscall(SYS_prlimit64, getppid(), RLIMIT_CORE, NULL, &rl), EPERM);
}

/* Field `n` of /proc/PID/stat, numbered as in proc(5). */
static unsigned long stat_field(pid_t pid, int n)
{
    char name[64], text[1024], *p;
    FILE *f;

    snprintf(name, sizeof name, "/proc/%d/stat", pid);
    f = fopen(name, "r");
    EXPECT(f != NULL && fgets(text, sizeof text, f) != NULL);
    fclose(f);
    p = strrchr(text, ')') + 1;
    for (int i = 2; i < n - 1; i++)
        p = strchr(p + 1, ' ');
    return strtoul(p, NULL, 10);
}

static void others_addresses(void)
{
    static const int addresses[] = {26, 27, 28, 29, 30, 48, 49, 50, 51};
    char maps[64];
    pid_t root = getpid(), pid;
    int status;

    NEED_ROOT();
    EXPECT_EQ(stat_field(root, 4), getppid());
    snprintf(maps, sizeof maps, "/proc/%d/maps", root);
    EXPECT(open(maps, O_RDONLY) >= 0);
    if ((pid = fork()) == 0) {
        become(USER);
        for (unsigned i = 0; i < sizeof addresses / sizeof addresses[0]; i++)
            EXPECT(stat_field(root, addresses[i]) <= 1);
        EXPECT_ERR(open(maps, O_RDONLY), EACCES);
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

/* ---- other rules ---- */

static void low_ports(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(1023)};
    int stream = socket(AF_INET, SOCK_STREAM, 0), dgram = socket(AF_INET, SOCK_DGRAM, 0);

    NEED_ROOT();
    if (setting("/proc/sys/net/ipv4/ip_unprivileged_port_start", 1024) != 1024)
        SKIP("allowed here");
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    become(USER);
    EXPECT_ERR(bind(stream, (struct sockaddr *)&a, sizeof a), EACCES);
    EXPECT_ERR(bind(dgram, (struct sockaddr *)&a, sizeof a), EACCES);
    a.sin_port = 0;
    EXPECT_EQ(bind(stream, (struct sockaddr *)&a, sizeof a), 0);
}

/* The number of the terminal whose master is `m`. */
static int pty_number(int m)
{
    int n = -1, open_it = 0;

    EXPECT_EQ(ioctl(m, TIOCSPTLCK, &open_it), 0);
    EXPECT_EQ(ioctl(m, TIOCGPTN, &n), 0);
    return n;
}

/* A descriptor of a terminal that is gone does not lead to a new one with the same number. */
static void terminal_of_the_next(void)
{
    int told[2], asked[2], m, fd, n = -1, status, path;
    char name[64], c;
    pid_t pid;

    NEED_ROOT();
    EXPECT(pipe(told) == 0 && pipe(asked) == 0);
    if ((pid = fork()) == 0) {
        become(USER);
        EXPECT((m = open("/dev/ptmx", O_RDWR | O_NOCTTY)) >= 0);
        n = pty_number(m);
        snprintf(name, sizeof name, "/dev/pts/%d", n);
        EXPECT((path = open(name, O_PATH)) >= 0);
        snprintf(name, sizeof name, "/proc/self/fd/%d", path);
        EXPECT((fd = open(name, O_RDWR | O_NOCTTY)) >= 0);
        close(fd);
        close(m);
        EXPECT_EQ(write(told[1], &n, sizeof n), sizeof n);
        EXPECT_EQ(read(asked[0], &c, 1), 1);
        EXPECT_ERR(open(name, O_RDWR | O_NOCTTY), EIO);
        _exit(CHECK_PASS);
    }
    close(told[1]);
    if (read(told[0], &n, sizeof n) == sizeof n) {
        EXPECT((m = open("/dev/ptmx", O_RDWR | O_NOCTTY)) >= 0);
        if (pty_number(m) != n)
            SKIP("the number was not used again");
        EXPECT_EQ(write(asked[1], "x", 1), 1);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

/* After TIOCEXCL others cannot open the terminal, except the superuser. */
static void exclusive_terminal(void)
{
    int m = open("/dev/ptmx", O_RDWR | O_NOCTTY), fd, status;
    char name[64];
    pid_t pid;

    NEED_ROOT();
    EXPECT(m >= 0);
    snprintf(name, sizeof name, "/dev/pts/%d", pty_number(m));
    EXPECT((fd = open(name, O_RDWR | O_NOCTTY)) >= 0);
    EXPECT_EQ(ioctl(fd, TIOCEXCL), 0);
    EXPECT(open(name, O_RDWR | O_NOCTTY) >= 0);
    if ((pid = fork()) == 0) {
        EXPECT_EQ(setresuid(0, USER, 0), 0);
        EXPECT_EQ(syscall(SYS_setfsuid, 0), USER); /* the mode of the file would allow it */
        EXPECT_ERR(open(name, O_RDWR | O_NOCTTY), EBUSY);
        EXPECT_EQ(ioctl(fd, TIOCNXCL), 0);
        EXPECT(open(name, O_RDWR | O_NOCTTY) >= 0);
        _exit(CHECK_PASS);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

static void messages_of_the_kernel(void)
{
    enum { READ_ALL = 3, SIZE_UNREAD = 9, SIZE_BUFFER = 10 };
    char c;

    NEED_ROOT();
    if (setting("/proc/sys/kernel/dmesg_restrict", 1) != 1)
        SKIP("everybody's here");
    become(USER);
    EXPECT_ERR(syscall(SYS_syslog, READ_ALL, &c, 1), EPERM);
    EXPECT(open("/dev/kmsg", O_RDONLY) == -1);
    if (on_homeroom())
        EXPECT(syscall(SYS_syslog, SIZE_BUFFER, NULL, 0) > 0);
}

static void exec_flags(void)
{
    char *const argv[] = {"su", "euid", NULL}, *const envp[] = {NULL};

    NEED_ROOT();
    enter_directory();
    copy_self("prog", 0755);
    EXPECT_EQ(symlink("prog", "link"), 0);
    EXPECT_ERR(syscall(SYS_execveat, AT_FDCWD, "prog", argv, envp, 0x4), EINVAL);
    EXPECT_ERR(syscall(SYS_execveat, AT_FDCWD, "link", argv, envp, AT_SYMLINK_NOFOLLOW), ELOOP);
    if (fork() == 0)
        syscall(SYS_execveat, AT_FDCWD, "prog", argv, envp, AT_SYMLINK_NOFOLLOW);
    int status;

    EXPECT(wait(&status) > 0);
    EXPECT_EQ(WEXITSTATUS(status), 1);

    int fd = open("prog", O_RDONLY);

    EXPECT_EQ(unlink("prog"), 0);
    /* the open file counts, not the file that has its name now */
    EXPECT_EQ(symlink("/bin/true", "prog"), 0);
    if (fork() == 0)
        syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
    EXPECT(wait(&status) > 0);
    EXPECT_EQ(WEXITSTATUS(status), 1);
}

static const struct check list[] = {
    {"only_a_path", only_a_path},
    {"set_gid_rules", set_gid_rules},
    {"chown_takes_set_id_away", chown_takes_set_id_away},
    {"no_new_privileges", no_new_privileges},
    {"shared_umask", shared_umask},
    {"signal_of_a_child", signal_of_a_child},
    {"traced", traced},
    {"mount_flags", mount_flags},
    {"hard_links_to_others", hard_links_to_others},
    {"links_in_sticky_directories", links_in_sticky_directories},
    {"owner_of_a_pipe", owner_of_a_pipe},
    {"others_processes", others_processes},
    {"others_addresses", others_addresses},
    {"low_ports", low_ports},
    {"terminal_of_the_next", terminal_of_the_next},
    {"exclusive_terminal", exclusive_terminal},
    {"messages_of_the_kernel", messages_of_the_kernel},
    {"exec_flags", exec_flags},
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "euid") == 0)
        return geteuid() == 0;
    if (argc == 2 && strcmp(argv[0], "su") == 0)
        return set_id_program(argv[1]);
    return check_main(list, sizeof list / sizeof list[0], argc, argv);
}
