// SPDX-License-Identifier: MIT
/*
 * attack.h - the frame of a program of attacks: what an ordinary user tries, and whether root can still work meanwhile.
 *
 * THEORY      Each attack runs as USER with no_new_privs, in processes of its own.  It records what the system
 *             answered.  Then it keeps all that it holds until root has checked four things: its canary file, its timed
 *             task, 4 MiB of memory in a new process, and a file that it writes.  Then all processes of USER are
 *             killed, and root checks again.  Root and USER must have no other processes at work on the machine.
 * OUTPUT      "attack NAME: what is tried: what the system answered", then "PASS NAME", or "FAIL NAME" after a line
 *             that says what was lost.  `prog` runs all attacks, `prog name...` some.  Status 0: root lost nothing.
 * SEE ALSO    tests/test_attack.py, docs/attacks.md
 */
#ifndef HR_ATTACK_H
#define HR_ATTACK_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { USER = 1000, PAGE = 4096, MIB = 1 << 20, ATTACK_SECONDS = 5, LOOK_SECONDS = 180 };

struct attack {
    const char *name, *what;
    bool (*run)(void); /* runs as USER, in directory `own`; true: it got what it may not have */
    /* runs as root, while the attack's processes still exist; true: root was deceived.  NULL: nothing to check */
    bool (*root)(void);
    /* runs as root, before; false: there is nothing to attack here.  NULL: nothing to prepare */
    bool (*ready)(void);
};

static struct {
    _Atomic long beats; /* counts the wake-ups of root's timed task */
    _Atomic int task;   /* its process id */
    /* set by an attack that must come to its end: if it does not, the kernel hangs */
    _Atomic bool ends;
    char answer[400];
} *shared;

static char place[] = "/tmp/attack.XXXXXX"; /* root's directory, mode 0755 */
static char canary[64], own[64];            /* root's file, mode 0644; USER's directory */
static const char song[] = "the canary lives\n";

/* Adds to the recorded answer of the system. */
static __attribute__((format(printf, 1, 2))) void answer(const char *format, ...)
{
    size_t at = strlen(shared->answer);
    va_list ap;

    if (at > 0 && at + 2 < sizeof shared->answer)
        at += (size_t)snprintf(shared->answer + at, sizeof shared->answer - at, ", ");
    va_start(ap, format);
    vsnprintf(shared->answer + at, sizeof shared->answer - at, format, ap);
    va_end(ap);
}

static const char *error_name(int error)
{
    static char other[16];
    static const struct {
        int error;
        const char *name;
    } names[] = {
        {EPERM, "EPERM"},   {ENOENT, "ENOENT"}, {EACCES, "EACCES"},         {EINVAL, "EINVAL"},
        {EFAULT, "EFAULT"}, {ENOMEM, "ENOMEM"}, {EAGAIN, "EAGAIN"},         {EMFILE, "EMFILE"},
        {ENFILE, "ENFILE"}, {ENOSPC, "ENOSPC"}, {ENOSYS, "ENOSYS"},         {EIO, "EIO"},
        {EBADF, "EBADF"},   {EEXIST, "EEXIST"}, {ENOTTY, "ENOTTY"},         {ESRCH, "ESRCH"},
        {ENODEV, "ENODEV"}, {EDQUOT, "EDQUOT"}, {EOPNOTSUPP, "EOPNOTSUPP"}, {ENOBUFS, "ENOBUFS"},
        {EXDEV, "EXDEV"},   {EROFS, "EROFS"},   {ENOLCK, "ENOLCK"},         {EMLINK, "EMLINK"},
        {E2BIG, "E2BIG"},   {EBUSY, "EBUSY"},   {ETXTBSY, "ETXTBSY"},       {EFBIG, "EFBIG"}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].error == error)
            return names[i].name;
    snprintf(other, sizeof other, "errno %d", error);
    return other;
}

/* Records the answer to a call that must fail.  Returns whether it succeeded. */
static inline bool allowed(const char *call, long result)
{
    answer("%s %s", call, result == -1 ? error_name(errno) : "done");
    return result != -1;
}

/* Records the answer to a call that may succeed or fail. */
static inline void tried(const char *call, long result)
{
    answer("%s %s", call, result == -1 ? error_name(errno) : "done");
}

/* Runs fn in a child of USER.  Returns its wait status. */
static inline int in_child(void (*fn)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        fn();
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return status;
}

/* Records how that child ended.  Returns whether it ended as if nothing had been wrong. */
static inline bool survived(const char *call, int status)
{
    if (WIFSIGNALED(status))
        answer("%s signal %d", call, WTERMSIG(status));
    else if (status == -1)
        answer("%s no process", call);
    else
        answer("%s status %d", call, WEXITSTATUS(status));
    return status == 0;
}

static void become_user(void)
{
    if (setgroups(0, NULL) != 0 || setresgid(USER, USER, USER) != 0 ||
        setresuid(USER, USER, USER) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        chdir(own) != 0)
        _exit(99);
}

static void write_file(const char *path, const char *text, uid_t uid, mode_t mode)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
        fchown(fd, uid, uid) != 0 || fchmod(fd, mode) != 0) {
        perror(path);
        _exit(99);
    }
    close(fd);
}

static bool canary_lives(void)
{
    char text[64] = "";
    struct stat st;
    int fd = open(canary, O_RDONLY);
    bool lives = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == 0 && st.st_gid == 0 &&
                 (st.st_mode & 07777) == 0644 && st.st_nlink == 1 &&
                 read(fd, text, sizeof text - 1) == (ssize_t)sizeof song - 1 &&
                 strcmp(text, song) == 0;

    if (fd >= 0)
        close(fd);
    return lives;
}

static time_t seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static bool task_goes_on(void)
{
    long before = shared->beats;

    for (time_t end = seconds() + LOOK_SECONDS; shared->beats < before + 5 && seconds() < end;)
        usleep(10000);
    return shared->beats >= before + 5;
}

/* Whether the system's tables had room for root; fd_or_id is the result of a call. */
static bool has_room(int fd_or_id)
{
    return fd_or_id >= 0 || (errno != ENOSPC && errno != ENOBUFS && errno != ENFILE);
}

/*
 * As root, in a new process: takes 4 MiB of memory, files, a socket, a terminal, a segment and a semaphore.  Returns
 * whether all worked.
 */
static bool root_works(void)
{
    char path[80];
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        alarm(LOOK_SECONDS);
        if (p == MAP_FAILED)
            _exit(1);
        memset(p, 1, 4 * MIB);
        snprintf(path, sizeof path, "%s/roots", place);
        int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600), id;

        if (!has_room(socket(AF_INET, SOCK_STREAM, 0)) ||
            !has_room(socket(AF_INET, SOCK_DGRAM, 0)) ||
            !has_room(open("/dev/ptmx", O_RDWR | O_NOCTTY)) ||
            !has_room(id = shmget(IPC_PRIVATE, PAGE, 0600)))
            _exit(3);
        shmctl(id, IPC_RMID, NULL);
        if (!has_room(id = semget(IPC_PRIVATE, 1, 0600)))
            _exit(4);
        semctl(id, 0, IPC_RMID);
        if (write((int)syscall(SYS_memfd_create, "root", 0), p, 65536) != 65536)
            _exit(5);
        ssize_t written = fd >= 0 ? write(fd, p, 65536) : -1;

        if (written == 65536 && unlink(path) == 0)
            _exit(0);
        printf("  root's file: %zd bytes written, the last error was %s\n", written,
               error_name(errno));
        fflush(stdout);
        _exit(2);
    }
    if (pid < 0)
        printf("  root's fork: %s\n", error_name(errno));
    else if (waitpid(pid, &status, 0) == pid && status != 0)
        printf("  root's process: status %#x\n", (unsigned)status);
    return status == 0;
}

static bool root_has_all(const char *when)
{
    const char *lost = !canary_lives()   ? "the canary"
                       : !task_goes_on() ? "the timed task"
                       : !root_works()   ? "memory"
                                         : NULL;

    if (lost != NULL)
        printf("  lost %s: %s\n", when, lost);
    return lost == NULL;
}

/* The number of USER's processes. */
static unsigned users_processes(void)
{
    DIR *d = opendir("/proc");
    struct stat st;
    unsigned n = 0;

    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
             fstatat(dirfd(d), e->d_name, &st, 0) == 0 && st.st_uid == USER;
    if (d != NULL)
        closedir(d);
    return n;
}

/* Kills all processes of USER and waits for their end. */
static void kill_user(void)
{
    time_t end = seconds() + LOOK_SECONDS;

    do {
        pid_t killer = fork();

        if (killer == 0)
            _exit(setresuid(USER, USER, USER) != 0 || kill(-1, SIGKILL) != 0);
        usleep(10000);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    } while (users_processes() > 0 && seconds() < end);
    if (users_processes() > 0)
        printf("  processes cannot be killed\n");
}

/* Removes what the user left in its directory, so that the next attack finds room. */
static void empty_own(void)
{
    char command[256];

    snprintf(command, sizeof command, "rm -rf %s && mkdir -m 755 %s && chown %d:%d %s", own, own,
             USER, USER, own);
    if (system(command) != 0)
        printf("  cannot empty %s\n", own);
}

/* Runs one attack and prints its lines.  Returns whether root lost nothing. */
static bool try_attack(const struct attack *a)
{
    char done = 0;
    /* a process that leaves no status was killed, as the kernel may do when memory is short */
    int end[2], status = SIGKILL;
    bool well, ended = false;
    pid_t pid;

    shared->answer[0] = 0;
    shared->ends = false;
    fflush(stdout);
    if (a->ready != NULL && !a->ready()) {
        printf("SKIP %s\n", a->name);
        return true;
    }
    if (pipe(end) != 0 || (pid = fork()) < 0) {
        printf("FAIL %s: cannot run (errno %d)\n", a->name, errno);
        return false;
    }
    if (pid == 0) {
        setsid();
        close(end[0]);
        fcntl(end[1], F_SETFD, FD_CLOEXEC);
        become_user();
        done = a->run() ? 'y' : 'n';
        if (write(end[1], &done, 1) == 1)
            pause();
        else
            dprintf(2, "  cannot say that it is done: %s\n", error_name(errno));
        _exit(0);
    }
    close(end[1]);
    fcntl(end[0], F_SETFL, O_NONBLOCK);
    /* until the attack has ended, or for ATTACK_SECONDS while it goes on */
    for (time_t start = seconds();
         done == 0 && seconds() < start + (shared->ends ? LOOK_SECONDS : ATTACK_SECONDS);) {
        if (read(end[0], &done, 1) == 0) {
            waitpid(pid, &status, 0);
            ended = true;
            break;
        }
        if (done == 0)
            usleep(10000);
    }
    if (done == 'y')
        printf("  it got what it may not have\n");
    ended |= done != 0;
    if (shared->ends && !ended)
        printf("  it does not end\n");
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        printf("  the attack ended before it was tried to the end: status %#x\n", (unsigned)status);
    well = done != 'y' && (ended || !shared->ends) && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGKILL && root_has_all("meanwhile");
    if (a->root != NULL && a->root()) {
        printf("  root was deceived\n");
        well = false;
    }
    kill_user();
    empty_own();
    close(end[0]);
    well &= root_has_all("afterwards");
    printf("attack %s: %s: %s\n", a->name, a->what,
           shared->answer[0] != 0 ? shared->answer : "no answer");
    printf("%s %s\n", well ? "PASS" : "FAIL", a->name);
    return well;
}

static void start_task(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            usleep(10000);
            shared->beats++;
        }
    }
    shared->task = pid;
}

static int attack_main(const struct attack *list, size_t n, int argc, char **argv)
{
    bool well = true;

    if (geteuid() != 0) {
        fprintf(stderr, "%s: only root can see what root loses\n", argv[0]);
        return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || mkdtemp(place) == NULL || chmod(place, 0755) != 0) {
        perror(place);
        return 2;
    }
    snprintf(canary, sizeof canary, "%s/canary", place);
    snprintf(own, sizeof own, "%s/own", place);
    write_file(canary, song, 0, 0644);
    if (mkdir(own, 0755) != 0 || chown(own, USER, USER) != 0) {
        perror(own);
        return 2;
    }
    start_task();
    for (size_t i = 0; i < n; i++) {
        bool chosen = argc < 2;

        for (int k = 1; k < argc; k++)
            chosen |= strcmp(argv[k], list[i].name) == 0;
        if (chosen)
            well &= try_attack(&list[i]);
    }
    kill(shared->task, SIGKILL);
    return !well;
}

#define ATTACK_MAIN(list)                                                                          \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return attack_main(list, sizeof list / sizeof list[0], argc, argv);                        \
    }

#endif
