// SPDX-License-Identifier: MIT
/*
 * privilege.c - attacks on what belongs to root and to other users: files, processes, the machine.
 *
 * SEE ALSO    attack.h
 */
#include "attack.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/swap.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>

static char path[128];

static const char *in(const char *folder, const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static long open_to(const char *name, int flags)
{
    int fd = open(name, flags, 0600);

    if (fd >= 0)
        close(fd);
    return fd;
}

/* ---- files ---- */

static bool change_the_canary(void)
{
    struct timespec old[2] = {{1, 0}, {1, 0}};

    return allowed("open", open_to(canary, O_RDWR)) | allowed("truncate", truncate(canary, 0)) |
           allowed("chmod", chmod(canary, 0666)) | allowed("chown", chown(canary, USER, USER)) |
           allowed("unlink", unlink(canary)) | allowed("rename", rename(canary, in(own, "x"))) |
           allowed("utimes", utimensat(AT_FDCWD, canary, old, 0)) |
           allowed("link", link(canary, in(own, "x")));
}

static bool by_descriptor(void)
{
    int fd = open(canary, O_RDONLY), opath = open(canary, O_PATH);
    char again[32];

    snprintf(again, sizeof again, "/proc/self/fd/%d", fd);
    return allowed("fchmod", fchmod(fd, 0666)) | allowed("fchown", fchown(fd, USER, USER)) |
           allowed("ftruncate", ftruncate(fd, 0)) | allowed("O_PATH fchmod", fchmod(opath, 0666)) |
           allowed("O_PATH fchown", fchown(opath, USER, USER)) |
           allowed("reopened", open_to(again, O_RDWR)) |
           allowed("mmap", mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
}

/* Makes a secret of root: mode 0600. */
static bool make_secret(void)
{
    write_file(in(place, "secret"), "secret\n", 0, 0600);
    return true;
}

static bool read_a_secret(void)
{
    int opath = open(in(place, "secret"), O_PATH);
    char again[32];

    snprintf(again, sizeof again, "/proc/self/fd/%d", opath);
    return allowed("open", open_to(path, O_RDONLY)) |
           allowed("through O_PATH", open_to(again, O_RDONLY)) |
           allowed("link", link(path, "secret"));
}

/* The user makes its files set-uid while root takes ownership of them. */
static bool chmod_beside_chown(void)
{
    char *bytes = calloc(1, 4 * MIB);
    int fd = open("victim", O_CREAT | O_RDWR, 0755);

    if (bytes == NULL || fd < 0)
        return allowed("open", -1);
    if (fork() == 0) {
        for (;;)
            if (pwrite(fd, bytes, 4 * MIB, 0) < 0)
                usleep(1000);
    }
    if (fork() == 0) {
        for (;;)
            if (chmod("victim", 04755) != 0 && errno == EPERM)
                pause();
    }
    answer("goes on");
    return false;
}

static bool took_set_uid(void)
{
    struct stat st;

    usleep(200000);
    if (chown(in(own, "victim"), 0, 0) != 0)
        return true;
    sleep(1);
    return stat(path, &st) != 0 || (st.st_uid == 0 && (st.st_mode & 06000) != 0);
}

/* Makes a directory of a group that the user is not in.  Files made there get that group. */
static bool make_group_directory(void)
{
    return mkdir(in(place, "group"), 0) == 0 && chown(path, 0, 4242) == 0 &&
           chmod(path, 02777) == 0;
}

static bool others_group(const char *name)
{
    struct stat st;

    if (stat(name, &st) != 0)
        return false;
    answer("%s mode %o", name, st.st_mode & 07777);
    return st.st_gid == 4242 && S_ISREG(st.st_mode) && (st.st_mode & 02010) == 02010;
}

static bool set_gid_file(void)
{
    bool got = false;
    int fd;

    if (chdir(in(place, "group")) != 0)
        return false;
    umask(0);
    fd = open("made", O_CREAT | O_RDWR, 02777);
    got |= others_group("made");
    chmod("made", 02777);
    got |= others_group("made");
    fchmod(fd, 02777);
    got |= others_group("made");
    if (mknod("node", S_IFREG | 02777, 0) == 0)
        got |= others_group("node");
    return got;
}

/* Makes a set-uid file of root that all users may write.  Once it is written, it must not run as root. */
static bool make_writable_set_uid(void)
{
    static const char *const names[] = {"w1", "w2", "w3", "w4"};

    for (int i = 0; i < 4; i++)
        write_file(in(place, names[i]), "#!/bin/sh\n#\n", 0, 06777);
    return true;
}

static bool keeps_set_uid(const char *how, const char *name)
{
    struct stat st;

    if (stat(in(place, name), &st) != 0)
        return true;
    answer("%s %o", how, st.st_mode & 07777);
    return (st.st_mode & 06000) != 0;
}

static bool write_set_uid(void)
{
    bool got = false;
    int fd = open(in(place, "w1"), O_RDWR);

    if (write(fd, "x", 1) == 1)
        got |= keeps_set_uid("write", "w1");
    if (truncate(in(place, "w2"), 5) == 0)
        got |= keeps_set_uid("truncate", "w2");
    fd = open(in(place, "w3"), O_RDWR);
    if (posix_fallocate(fd, 0, 8192) == 0)
        got |= keeps_set_uid("fallocate", "w3");
    fd = open(in(place, "w4"), O_RDWR | O_TRUNC);
    if (fd >= 0)
        got |= keeps_set_uid("O_TRUNC", "w4");
    return got;
}

/* Makes a copy of `id` that is root's and set-uid.  With no_new_privs it must give no rights. */
static bool make_set_uid_program(void)
{
    char command[256];

    snprintf(command, sizeof command, "cp /bin/busybox %s/id && chmod 6755 %s/id", place, place);
    return system(command) == 0;
}

static bool exec_set_uid(void)
{
    char line[128] = "", command[160];
    FILE *f;

    snprintf(command, sizeof command, "%s/id -u", place);
    if ((f = popen(command, "r")) == NULL || fgets(line, sizeof line, f) == NULL)
        return allowed("exec", -1);
    line[strcspn(line, "\n")] = 0;
    answer("uid %s", line);
    return strcmp(line, "0") == 0;
}

/* ---- a directory that all may write, with the sticky bit ---- */

static bool make_sticky(void)
{
    if (mkdir(in(place, "sticky"), 0) != 0 || chmod(path, 01777) != 0)
        return false;
    write_file(in(place, "sticky/roots"), "root's\n", 0, 0666);
    return true;
}

static bool others_in_sticky(void)
{
    if (chdir(in(place, "sticky")) != 0)
        return false;
    return allowed("unlink", unlink("roots")) | allowed("rename", rename("roots", "mine")) |
           allowed("over", (open_to("mine", O_CREAT | O_WRONLY), rename("mine", "roots")));
}

static bool plant_links(void)
{
    if (chdir(in(place, "sticky")) != 0)
        return false;
    tried("symlink", symlink(canary, "log"));
    return allowed("link", link(canary, "log2"));
}

static bool root_follows(void)
{
    int fd = open(in(place, "sticky/log"), O_CREAT | O_WRONLY | O_APPEND, 0600);

    if (fd >= 0)
        close(fd);
    printf("  root's open through it: %s\n", fd >= 0 ? "done" : error_name(errno));
    return fd >= 0;
}

/* A process of root ends by SIGABRT in the user's directory, where the name of its core file is a link. */
static bool plant_core(void)
{
    struct stat st;

    tried("symlink", symlink(canary, "core"));
    tried("/etc", symlink("/etc/planted", "core.0"));
    return stat("/etc/planted", &st) == 0;
}

static bool root_dumps_there(void)
{
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &all);
        if (chdir(own) == 0)
            abort();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    printf("  root's core file: %s\n", WCOREDUMP(status) ? "made" : "not made");
    return !canary_lives() || access("/etc/planted", F_OK) == 0;
}

/* Copies within the kernel to root's file, and from a file that is not readable. */
static bool copy_in_the_kernel(void)
{
    int to = open(canary, O_RDONLY), fd = open("mine", O_CREAT | O_RDWR, 0600);
    int secret = open(in(place, "secret"), O_PATH);
    bool got;

    if (write(fd, "dead", 4) != 4)
        return false;
    lseek(fd, 0, SEEK_SET);
    got = allowed("copied to it", syscall(SYS_copy_file_range, fd, NULL, to, NULL, 4, 0)) |
          allowed("from O_PATH", syscall(SYS_copy_file_range, secret, NULL, fd, NULL, 4, 0));
    return got | allowed("sendfile to it", syscall(SYS_sendfile, to, fd, NULL, 4));
}

/* ---- processes ---- */

static bool move_roots_pages(void)
{
    void *page = (void *)((uintptr_t)canary & ~(uintptr_t)(PAGE - 1));
    unsigned long old = 1, new = 1;
    int node = 0, status = 0;

    return allowed("move_pages",
                   syscall(SYS_move_pages, shared->task, 1, &page, &node, &status, 2)) |
           allowed("where", syscall(SYS_move_pages, shared->task, 1, &page, NULL, &status, 0)) |
           allowed("migrate_pages", syscall(SYS_migrate_pages, shared->task, 64, &old, &new));
}

/* Makes a copy of this program that users can run but not read. */
static bool make_unreadable(void)
{
    char command[256];

    snprintf(command, sizeof command, "cp /proc/%d/exe %s && chmod 711 %s", getpid(),
             in(place, "unreadable"), path);
    return system(command) == 0;
}

/* Tracing does not give what a program may not read. */
static bool trace(void)
{
    long rip = 0, word = 0;
    char mem[32];
    int status;
    bool got = allowed("seize", syscall(SYS_ptrace, 0x4206 /* SEIZE */, shared->task, 0, 0)) |
               allowed("attach", syscall(SYS_ptrace, 16 /* ATTACH */, shared->task, 0, 0)) |
               allowed("init", syscall(SYS_ptrace, 16 /* ATTACH */, 1, 0, 0));
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* become_user() has cleared it */
        syscall(SYS_ptrace, 0 /* TRACEME */, 0, 0, 0);
        execl(in(place, "unreadable"), "unreadable", NULL);
        _exit(9);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        return allowed("exec", -1);
    tried("registers", syscall(SYS_ptrace, 3 /* PEEKUSER */, pid, 16 * sizeof rip, &rip));
    snprintf(mem, sizeof mem, "/proc/%d/mem", pid);
    return got | allowed("peek", syscall(SYS_ptrace, 1 /* PEEKTEXT */, pid, rip, &word)) |
           allowed("poke", syscall(SYS_ptrace, 4 /* POKETEXT */, pid, rip, word)) |
           allowed("mem", open_to(mem, O_RDONLY));
}

static bool signal_root(void)
{
    int p[2], task = shared->task;
    timer_t timer;
    struct sigevent tell = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    bool got = allowed("kill", kill(task, SIGKILL)) | allowed("stop", kill(task, SIGSTOP)) |
               allowed("tkill", syscall(SYS_tkill, task, SIGKILL)) |
               allowed("init", kill(1, SIGKILL));

    if (pipe(p) == 0) {
        tried("F_SETOWN", fcntl(p[0], F_SETOWN, task));
        fcntl(p[0], F_SETSIG, SIGKILL);
        fcntl(p[0], F_SETFL, O_ASYNC);
        tried("write", write(p[1], "x", 1));
    }
    tell.sigev_notify = SIGEV_THREAD_ID;
    memcpy((char *)&tell + 12, &task, sizeof task); /* sigev_notify_thread_id */
    return got | allowed("timer", timer_create(CLOCK_MONOTONIC, &tell, &timer));
}

static bool slow_root(void)
{
    struct sched_param p = {0};
    struct rlimit none = {0, 0};
    int task = shared->task;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(0, &set);
    return allowed("affinity", sched_setaffinity(task, sizeof set, &set)) |
           allowed("policy", syscall(SYS_sched_setscheduler, task, 5, &p)) |
           allowed("param", syscall(SYS_sched_setparam, task, &p)) |
           allowed("nice", setpriority(PRIO_PROCESS, (id_t)task, 19)) |
           allowed("limit", prlimit(task, RLIMIT_AS, &none, NULL)) |
           allowed("group", setpgid(task, 0));
}

static bool read_root(void)
{
    static const char *const names[] = {"mem", "maps", "environ", "fd", "cwd"};
    char name[64], line[1024] = "", b[8];
    struct iovec here = {b, 8}, there = {(void *)(uintptr_t)&canary, 8};
    bool got = false;
    FILE *f;

    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "/proc/%d/%s", shared->task, names[i]);
        got |= allowed(names[i], i < 4 ? open_to(name, O_RDONLY) : readlink(name, b, 8));
    }
    got |= allowed("process_vm_readv", process_vm_readv(shared->task, &here, 1, &there, 1, 0));
    got |= allowed("ptrace", syscall(SYS_ptrace, 16 /* ATTACH */, shared->task, 0, 0));
    snprintf(name, sizeof name, "/proc/%d/stat", shared->task);
    if ((f = fopen(name, "r")) != NULL && fgets(line, sizeof line, f) != NULL) {
        unsigned long stack = 0, rest = 0;
        char *p = strrchr(line, ')');

        /* fields 28 to 30: startstack, kstkesp, kstkeip */
        for (int field = 2; p != NULL && field < 30; field++) {
            p = strchr(p + 1, ' ');
            if (p != NULL && field >= 27)
                field == 27 ? (stack = strtoul(p, NULL, 10)) : (rest |= strtoul(p, NULL, 10));
        }
        answer("stat %s", (stack | rest) > 1 ? "with addresses" : "without addresses");
        got |= (stack | rest) > 1;
    }
    return got;
}

static bool become_root(void)
{
    gid_t groups[1] = {0};

    return allowed("setuid", setuid(0)) | allowed("setresuid", setresuid(-1, 0, -1)) |
           allowed("setgid", setgid(0)) | allowed("setgroups", setgroups(1, groups)) |
           allowed("setfsuid", syscall(SYS_setfsuid, 0) == 0 ? 0 : (errno = EPERM, -1)) |
           allowed("nnp off", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

/* ---- the machine ---- */

static bool run_the_machine(void)
{
    struct timespec then = {1, 0};

    return allowed("reboot", reboot(RB_AUTOBOOT)) | allowed("hostname", sethostname("x", 1)) |
           allowed("clock", clock_settime(CLOCK_REALTIME, &then)) |
           allowed("swapon", swapon(canary, 0)) | allowed("swapoff", swapoff("/dev/vda")) |
           allowed("iopl", syscall(SYS_iopl, 3)) |
           allowed("ioperm", syscall(SYS_ioperm, 0x70, 2, 1)) |
           allowed("module", syscall(SYS_init_module, song, 4, ""));
}

static bool mounts(void)
{
    mkdir("m", 0755);
    return allowed("mount", mount("tmpfs", "m", "tmpfs", 0, "")) |
           allowed("bind", mount("/", "m", "", MS_BIND, "")) |
           allowed("remount", mount("", "/", "", MS_REMOUNT, "")) |
           allowed("umount", umount2("/proc", MNT_DETACH)) | allowed("chroot", chroot(".")) |
           allowed("pivot", syscall(SYS_pivot_root, ".", "m"));
}

static bool devices(void)
{
    static const char *const names[] = {"/dev/mem", "/dev/kmem", "/dev/port",
                                        "/dev/vda", "/dev/sda",  "/dev/fireplane"};
    bool got = allowed("mknod", mknod("null", S_IFCHR | 0666, 0x101)) |
               allowed("block", mknod("disk", S_IFBLK | 0666, 0x800));

    for (int i = 0; i < 5; i++)
        got |= allowed(names[i], open_to(names[i], O_RDWR));
    return got;
}

static bool low_ports(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    bool got = false;

    for (int i = 0; i < 2; i++) {
        static const uint16_t port[] = {22, 1023};
        int s = socket(AF_INET, i == 0 ? SOCK_STREAM : SOCK_DGRAM, 0);

        a.sin_port = htons(port[i]);
        got |= allowed(i == 0 ? "tcp 22" : "udp 1023", bind(s, (struct sockaddr *)&a, sizeof a));
    }
    return got | allowed("raw", socket(AF_INET, SOCK_RAW, 1));
}

static bool terminals(void)
{
    int tty = open("/dev/console", O_RDWR);
    char c = 'x';

    if (tty < 0)
        return allowed("console", -1);
    return allowed("TIOCSTI", ioctl(tty, TIOCSTI, &c)) |
           allowed("TIOCSCTTY", ioctl(tty, TIOCSCTTY, 1));
}

/* Makes root's socket, which only root may reach. */
static bool make_socket(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(a.sun_path, sizeof a.sun_path, "%s/socket", place);
    return s >= 0 && bind(s, (struct sockaddr *)&a, sizeof a) == 0 &&
           chmod(a.sun_path, 0600) == 0 && listen(s, 5) == 0;
}

static bool roots_socket(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(a.sun_path, sizeof a.sun_path, "%s/socket", place);
    return allowed("connect", connect(s, (struct sockaddr *)&a, sizeof a));
}

/* A descriptor in a control message must be passed or refused, not ignored. */
static bool control_messages(void)
{
    int s[2], zero = open("/dev/null", O_RDONLY);
    char c = 'x', room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec v = {&c, 1};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    long sent;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) != 0)
        return false;
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(h), &zero, sizeof zero);
    sent = sendmsg(s[0], &m, 0);
    tried("SCM_RIGHTS", sent);
    memset(room, 0, sizeof room);
    if (sent < 0)
        return false;
    return recvmsg(s[1], &m, 0) != 1 || m.msg_controllen == 0;
}

static const struct attack list[] = {
    {"change_the_canary", "root's file, by name", change_the_canary, NULL, NULL},
    {"by_descriptor", "root's file, by descriptors opened for reading", by_descriptor, NULL, NULL},
    {"read_a_secret", "root's file that is not readable", read_a_secret, NULL, make_secret},
    {"chmod_beside_chown", "a file made set-uid while root takes it", chmod_beside_chown,
     took_set_uid, NULL},
    {"set_gid_file", "a set-gid file of a group one is not in", set_gid_file, NULL,
     make_group_directory},
    {"write_set_uid", "set-uid bits of files that are changed", write_set_uid, NULL,
     make_writable_set_uid},
    {"exec_set_uid", "a set-uid program, with no_new_privs", exec_set_uid, NULL,
     make_set_uid_program},
    {"others_in_sticky", "others' names in a sticky directory", others_in_sticky, NULL,
     make_sticky},
    {"plant_links", "links in a sticky directory, for root to write through", plant_links,
     root_follows, NULL},
    {"plant_core", "links where a process of root makes its core file", plant_core,
     root_dumps_there, NULL},
    {"copy_in_the_kernel", "root's files, by copy_file_range and sendfile", copy_in_the_kernel,
     NULL, make_secret},
    {"move_roots_pages", "pages of root's processes", move_roots_pages, NULL, NULL},
    {"trace", "root's processes, and a program that is not readable, by ptrace", trace, NULL,
     make_unreadable},
    {"signal_root", "signals to root's processes", signal_root, NULL, NULL},
    {"slow_root", "scheduling and limits of root's processes", slow_root, NULL, NULL},
    {"read_root", "memory, files and addresses of root's processes", read_root, NULL, NULL},
    {"become_root", "ids and groups", become_root, NULL, NULL},
    {"run_the_machine", "calls of the superuser", run_the_machine, NULL, NULL},
    {"mounts", "mounts and roots", mounts, NULL, NULL},
    {"devices", "devices", devices, NULL, NULL},
    {"low_ports", "ports below 1024", low_ports, NULL, NULL},
    {"terminals", "root's terminal", terminals, NULL, NULL},
    {"roots_socket", "root's socket", roots_socket, NULL, make_socket},
    {"control_messages", "a descriptor in a control message", control_messages, NULL, NULL},
};
ATTACK_MAIN(list)
