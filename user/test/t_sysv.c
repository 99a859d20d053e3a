// SPDX-License-Identifier: MIT
/* t_sysv.c - System V semaphores: results, errors, waiting, SEM_UNDO, limits; and what ipcs reads of both. */
#include "check.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <time.h>

enum { USER = 1234, MANY = 32000, LARGEST = 32767 };
#ifndef SEM_STAT_ANY
#define SEM_STAT_ANY 20
#endif

union arg {
    int val;
    struct semid_ds *buf;
    unsigned short *array;
    struct seminfo *info;
};

static int new_set(int n)
{
    int id = semget(IPC_PRIVATE, n, 0600);

    EXPECT(id >= 0);
    return id;
}

static int operate(int id, int num, int add, int flags)
{
    struct sembuf op = {(unsigned short)num, (short)add, (short)flags};

    return semop(id, &op, 1);
}

static int value(int id, int num)
{
    return semctl(id, num, GETVAL);
}

static void set(int id, int num, int val)
{
    EXPECT_EQ(semctl(id, num, SETVAL, (union arg){.val = val}), 0);
}

/* Waits until so many threads wait for the semaphore to grow. */
static void until_waiting(int id, int num, int threads)
{
    while (semctl(id, num, GETNCNT) != threads)
        sched_yield();
}

static void end(int id)
{
    EXPECT_EQ(semctl(id, 0, IPC_RMID), 0);
}

static void getting(void)
{
    key_t key = 0x68720000 + getpid();
    int id;

    EXPECT_ERR(semget(IPC_PRIVATE, 0, 0600), EINVAL);
    EXPECT_ERR(semget(IPC_PRIVATE, -1, 0600), EINVAL);
    EXPECT_ERR(semget(IPC_PRIVATE, MANY + 1, 0600), EINVAL);
    EXPECT_ERR(semget(key, 1, 0600), ENOENT);
    id = semget(key, 3, IPC_CREAT | IPC_EXCL | 0600);
    EXPECT(id >= 0);
    EXPECT_ERR(semget(key, 3, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
    EXPECT_EQ(semget(key, 3, IPC_CREAT | 0600), id);
    EXPECT_EQ(semget(key, 0, 0), id);
    EXPECT_ERR(semget(key, 4, 0), EINVAL);
    end(id);
    EXPECT_ERR(semget(key, 0, 0), ENOENT);
    EXPECT_ERR(semctl(id, 0, IPC_RMID), EINVAL);
    EXPECT_ERR(operate(id, 0, 1, 0), EINVAL);
    EXPECT_ERR(operate(-1, 0, 1, 0), EINVAL);
    EXPECT(semget(key, 3, IPC_CREAT | 0600) != id);
    end(semget(key, 0, 0));
}

static void values(void)
{
    unsigned short v[3] = {7, 8, 9}, got[3];
    struct semid_ds ds;
    int id = new_set(3);

    EXPECT_EQ(value(id, 2), 0);
    set(id, 1, LARGEST);
    EXPECT_EQ(value(id, 1), LARGEST);
    EXPECT_EQ(semctl(id, 1, GETPID), getpid());
    EXPECT_ERR(semctl(id, 1, SETVAL, (union arg){.val = LARGEST + 1}), ERANGE);
    EXPECT_ERR(semctl(id, 1, SETVAL, (union arg){.val = -1}), ERANGE);
    EXPECT_ERR(semctl(id, 3, GETVAL), EINVAL);
    EXPECT_ERR(semctl(id, -1, GETVAL), EINVAL);
    EXPECT_ERR(semctl(id, 0, 99), EINVAL);
    EXPECT_EQ(semctl(id, 0, SETALL, (union arg){.array = v}), 0);
    EXPECT_EQ(semctl(id, 0, GETALL, (union arg){.array = got}), 0);
    EXPECT(memcmp(v, got, sizeof v) == 0);
    v[2] = LARGEST + 1;
    EXPECT_ERR(semctl(id, 0, SETALL, (union arg){.array = v}), ERANGE);
    EXPECT_EQ(value(id, 2), 9);
    EXPECT_ERR(semctl(id, 0, GETALL, (union arg){.array = (void *)8}), EFAULT);
    EXPECT_EQ(semctl(id, 0, IPC_STAT, (union arg){.buf = &ds}), 0);
    EXPECT(ds.sem_nsems == 3 && ds.sem_perm.mode == 0600 && ds.sem_otime == 0 && ds.sem_ctime != 0);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    ds.sem_perm.mode = 0640;
    EXPECT_EQ(semctl(id, 0, IPC_SET, (union arg){.buf = &ds}), 0);
    EXPECT_EQ(semctl(id, 0, IPC_STAT, (union arg){.buf = &ds}), 0);
    EXPECT(ds.sem_perm.mode == 0640 && ds.sem_otime != 0);
    end(id);
}

static void operations(void)
{
    struct sembuf op[600] = {{0, -1, 0}, {1, -1, IPC_NOWAIT}};
    struct timespec t = {0, 1000000}, bad = {0, 1000000000};
    int id = new_set(2);

    set(id, 0, 5);
    EXPECT_ERR(semop(id, op, 2), EAGAIN); /* all or nothing */
    EXPECT_EQ(value(id, 0), 5);
    set(id, 1, 1);
    EXPECT_EQ(semop(id, op, 2), 0);
    EXPECT(value(id, 0) == 4 && value(id, 1) == 0);
    op[1] = (struct sembuf){0, 4, 0}; /* one after the other: -1, then +4 */
    EXPECT_EQ(semop(id, op, 2), 0);
    EXPECT_EQ(value(id, 0), 7);
    EXPECT_EQ(operate(id, 1, 0, IPC_NOWAIT), 0);
    EXPECT_ERR(operate(id, 0, 0, IPC_NOWAIT), EAGAIN);
    EXPECT_ERR(operate(id, 0, LARGEST, 0), ERANGE);
    EXPECT_ERR(operate(id, 2, 1, 0), EFBIG);
    EXPECT_ERR(semop(id, op, 0), EINVAL);
    EXPECT_ERR(semop(id, op, 600), E2BIG);
    EXPECT_ERR(semop(id, (void *)8, 1), EFAULT);
    op[0] = (struct sembuf){0, -8, 0};
    EXPECT_ERR(semtimedop(id, op, 1, &t), EAGAIN);
    EXPECT_ERR(semtimedop(id, op, 1, &bad), EINVAL);
    EXPECT_ERR(semtimedop(id, op, 1, (void *)8), EFAULT);
    EXPECT_EQ(semctl(id, 0, GETNCNT), 0);
    set(id, 1, LARGEST);
    op[0] = (struct sembuf){
        0, -1, SEM_UNDO}; /* the second is impossible: the first and its undo are taken back */
    op[1] = (struct sembuf){1, 1, 0};
    EXPECT_ERR(semop(id, op, 2), ERANGE);
    EXPECT_EQ(value(id, 0), 7);
    end(id);
}

static pid_t child_operates(int id, int num, int add, int flags)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(operate(id, num, add, flags) == 0 ? 0 : errno);
    EXPECT(pid > 0);
    return pid;
}

static int status_of(pid_t pid)
{
    int status;

    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void waiting(void)
{
    int id = new_set(2);
    pid_t a = child_operates(id, 0, -2, 0), b, z;

    until_waiting(id, 0, 1);
    b = child_operates(id, 0, -1, 0);
    until_waiting(id, 0, 2);
    EXPECT_EQ(operate(id, 0, 1, 0), 0); /* not enough for the first, but for the second */
    EXPECT_EQ(status_of(b), 0);
    EXPECT_EQ(value(id, 0), 0);
    EXPECT_EQ(semctl(id, 0, GETPID), b);
    EXPECT_EQ(operate(id, 0, 2, 0), 0);
    EXPECT_EQ(status_of(a), 0);
    set(id, 1, 1);
    z = child_operates(id, 1, 0, 0);
    while (semctl(id, 1, GETZCNT) != 1)
        sched_yield();
    EXPECT_EQ(semctl(id, 1, GETNCNT), 0);
    EXPECT_EQ(operate(id, 1, -1, 0), 0);
    EXPECT_EQ(status_of(z), 0);
    a = child_operates(id, 0, -1, 0);
    until_waiting(id, 0, 1);
    set(id, 0, 1); /* SETVAL wakes, too */
    EXPECT_EQ(status_of(a), 0);
    end(id);
}

static void removing(void)
{
    int id = new_set(1);
    pid_t a = child_operates(id, 0, -1, SEM_UNDO), b = child_operates(id, 0, -1, 0);

    until_waiting(id, 0, 2);
    end(id);
    EXPECT_EQ(status_of(a), EIDRM);
    EXPECT_EQ(status_of(b), EIDRM);
}

static void ignore(int sig)
{
}

static void signals(void)
{
    struct sigaction sa = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    int id = new_set(1);
    pid_t a;

    sigaction(SIGUSR1, &sa, NULL);
    a = child_operates(id, 0, -1, 0);
    until_waiting(id, 0, 1);
    kill(a, SIGUSR1);
    EXPECT_EQ(status_of(a), EINTR);
    EXPECT_EQ(semctl(id, 0, GETNCNT), 0);
    end(id);
}

/* A process that ends gives back what it took, also if it is killed, and wakes those that wait for it. */
static void undo(void)
{
    int id = new_set(2), killed;
    pid_t a, w;

    set(id, 0, 3);
    EXPECT_EQ(status_of(child_operates(id, 0, -2, SEM_UNDO)), 0);
    EXPECT_EQ(value(id, 0), 3);
    EXPECT_EQ(status_of(child_operates(id, 0, 2, SEM_UNDO)), 0);
    EXPECT_EQ(value(id, 0), 3);
    a = fork();
    if (a == 0) {
        operate(id, 0, -3, SEM_UNDO);
        operate(id, 1, 1, 0);
        for (;;)
            pause();
    }
    EXPECT_EQ(operate(id, 1, -1, 0), 0); /* it has taken all */
    w = child_operates(id, 0, -3, 0);
    until_waiting(id, 0, 1);
    kill(a, SIGKILL);
    EXPECT_EQ(waitpid(a, &killed, 0), a);
    EXPECT_EQ(status_of(w), 0);
    EXPECT_EQ(value(id, 0), 0);
    EXPECT_EQ(semctl(id, 0, GETPID), w);
    /* a value that another process has changed meanwhile becomes 0 at least; SETVAL forgets what there is to undo */
    a = fork();
    if (a == 0) {
        operate(id, 0, 5, SEM_UNDO);
        operate(id, 1, 1, SEM_UNDO);
        operate(id, 0, -4, 0);
        set(id, 1, 6);
        _exit(0);
    }
    EXPECT_EQ(status_of(a), 0);
    EXPECT_EQ(value(id, 0), 0);
    EXPECT_EQ(value(id, 1), 6);
    /* the sum must fit */
    set(id, 0, 0);
    a = fork();
    if (a == 0) {
        for (int i = 0; i < 2; i++) {
            if (operate(id, 0, LARGEST, SEM_UNDO) != 0)
                _exit(errno);
            set(id, 1, 1);
            operate(id, 0, -LARGEST, 0);
        }
        _exit(0);
    }
    EXPECT_EQ(status_of(a), ERANGE);
    /* operations of which a later one is impossible leave nothing to undo */
    set(id, 0, 4);
    set(id, 1, LARGEST);
    a = fork();
    if (a == 0) {
        struct sembuf op[2] = {{0, -1, SEM_UNDO}, {1, 1, 0}};

        _exit(semop(id, op, 2) == 0 ? 0 : errno);
    }
    EXPECT_EQ(status_of(a), ERANGE);
    EXPECT_EQ(value(id, 0), 4);
    /* exec keeps it until the end of the new program */
    set(id, 0, 4);
    a = fork();
    if (a == 0) {
        operate(id, 0, -4, SEM_UNDO);
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
        _exit(99);
    }
    EXPECT_EQ(status_of(a), 3);
    EXPECT_EQ(value(id, 0), 4);
    end(id);
}

static void *take_one(void *arg)
{
    EXPECT_EQ(operate(*(int *)arg, 0, -1, SEM_UNDO), 0);
    return NULL;
}

/* A process that used many sets, of which some are removed meanwhile, gives back to each of the others. */
static void undo_of_many_sets(void)
{
    enum { SETS = 100 };
    int id[SETS], last;
    pid_t a;

    for (int i = 0; i < SETS; i++)
        id[i] = new_set(2);
    a = fork();
    if (a == 0) {
        for (int round = 0; round < 3; round++)
            for (int i = 0; i < SETS; i++)
                EXPECT_EQ(operate(id[(i * 7) % SETS], i % 2, 1 + i % 5, SEM_UNDO), 0);
        for (int i = 0; i < SETS; i += 3)
            end(id[i]);
        for (int i = 0; i < SETS; i++)
            if (i % 3 != 0)
                EXPECT_EQ(operate(id[i], 0, 2, SEM_UNDO), 0);
        last = new_set(1);
        EXPECT_EQ(operate(last, 0, 1, SEM_UNDO), 0);
        end(last);
        EXPECT(value(id[1], 0) > 0);
        _exit(0);
    }
    EXPECT_EQ(status_of(a), 0);
    for (int i = 0; i < SETS; i++)
        if (i % 3 != 0) {
            EXPECT_EQ(value(id[i], 0), 0);
            EXPECT_EQ(value(id[i], 1), 0);
            end(id[i]);
        }
}

/* Threads share what there is to undo: it is done when the process ends, not when the thread ends. */
static void undo_of_threads(void)
{
    int id = new_set(2);
    pthread_t t;
    pid_t a;

    set(id, 0, 2);
    a = fork();
    if (a == 0) {
        pthread_create(&t, NULL, take_one, &id);
        pthread_join(t, NULL);
        _exit(value(id, 0));
    }
    EXPECT_EQ(status_of(a), 1);
    EXPECT_EQ(value(id, 0), 2);
    a = fork();
    if (a == 0) { /* CLONE_SYSVSEM: a process that shares it with its creator */
        pid_t c = (pid_t)syscall(SYS_clone, CLONE_SYSVSEM | SIGCHLD, 0, 0, 0, 0);

        if (c == 0)
            _exit(operate(id, 0, -1, SEM_UNDO));
        status_of(c);
        _exit(value(id, 0));
    }
    EXPECT_EQ(status_of(a), 1);
    EXPECT_EQ(value(id, 0), 2);
    end(id);
}

static void permissions(void)
{
    int id, id2;
    struct semid_ds ds;
    pid_t a;

    NEED_ROOT();
    id = new_set(1);
    id2 = semget(IPC_PRIVATE, 1, 0604);
    a = fork();
    if (a == 0) {
        EXPECT_EQ(setgroups(0, NULL), 0); /* one of root's groups may be that of the sets */
        EXPECT_EQ(setgid(USER), 0);
        EXPECT_EQ(setuid(USER), 0);
        EXPECT_ERR(semctl(id, 0, GETVAL), EACCES);
        EXPECT_ERR(semctl(id, 0, IPC_STAT, (union arg){.buf = &ds}), EACCES);
        EXPECT_ERR(operate(id, 0, 1, 0), EACCES);
        EXPECT_EQ(value(id2, 0), 0);
        EXPECT_EQ(operate(id2, 0, 0, 0), 0);
        EXPECT_ERR(operate(id2, 0, 1, 0), EACCES);
        EXPECT_ERR(semctl(id2, 0, SETVAL, (union arg){.val = 1}), EACCES);
        EXPECT_EQ(semctl(id2, 0, IPC_STAT, (union arg){.buf = &ds}), 0);
        EXPECT_ERR(semctl(id2, 0, IPC_SET, (union arg){.buf = &ds}), EPERM);
        EXPECT_ERR(semctl(id2, 0, IPC_RMID), EPERM);
        _exit(0);
    }
    EXPECT_EQ(status_of(a), 0);
    end(id2);
    end(id);
}

/* What an ordinary user can hold is limited, by its memory and by places; and root still gets a set. */
static void limits(void)
{
    pid_t a;

    NEED_ROOT();
    if (!on_homeroom())
        SKIP("Linux permits more than a test should take");
    a = fork();
    if (a == 0) {
        long large = 0, small = 0;

        EXPECT_EQ(setuid(USER), 0);
        while (semget(IPC_PRIVATE, MANY, 0600) >= 0)
            large++;
        while (semget(IPC_PRIVATE, 1, 0600) >= 0)
            small++;
        EXPECT(large > 0 && large + small <= 1024);
        _exit(0);
    }
    EXPECT_EQ(status_of(a), 0);
    end(new_set(1));
    a = fork();
    if (a == 0) {
        struct seminfo si;
        struct semid_ds ds;
        int top = semctl(0, 0, SEM_INFO, (union arg){.info = &si});

        for (int i = 0; i <= top; i++) {
            int id = semctl(i, 0, SEM_STAT, (union arg){.buf = &ds});

            if (id >= 0 && ds.sem_perm.cuid == USER)
                end(id);
        }
        EXPECT_EQ(setuid(USER), 0);
        for (int i = 0; i < 3000;
             i++) { /* what there is to undo of sets that were removed is not kept */
            int id = semget(IPC_PRIVATE, MANY / 4, 0600);

            EXPECT(id >= 0);
            EXPECT_EQ(operate(id, 0, 1, SEM_UNDO), 0);
            end(id);
        }
        _exit(0);
    }
    EXPECT_EQ(status_of(a), 0);
}

/* Counts operations of a test and its children. */
static _Atomic long *count_operations(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    EXPECT(p != MAP_FAILED);
    return p;
}

/*
 * Waits until `n` operations were counted, and then a little.  It sleeps, because a thread that yields gets a busy CPU
 * only after all others.
 */
static void let_operate(_Atomic long *count, long n)
{
    while (*count < n)
        usleep(50);
    usleep((useconds_t)n * 10);
}

/* Processes take and give with SEM_UNDO, and are killed at any moment: the value comes back. */
static void killing(void)
{
    enum { PROCS = 6, ROUNDS = 40, TOKENS = 3 };
    int id = new_set(1), status;
    _Atomic long *count = count_operations();

    set(id, 0, TOKENS);
    for (int r = 0; r < ROUNDS; r++) {
        pid_t pid[PROCS];

        *count = 0;
        for (int i = 0; i < PROCS; i++) {
            pid[i] = fork();
            if (pid[i] == 0)
                for (;; ++*count) {
                    operate(id, 0, -1, SEM_UNDO);
                    operate(id, 0, 1, SEM_UNDO);
                }
        }
        for (int i = 0; i < PROCS; i++) {
            let_operate(count, r % 7);
            kill(pid[i], SIGKILL);
        }
        for (int i = 0; i < PROCS; i++)
            EXPECT_EQ(waitpid(pid[i], &status, 0), pid[i]);
        EXPECT_EQ(value(id, 0), TOKENS);
        EXPECT_EQ(semctl(id, 0, GETNCNT), 0);
    }
    end(id);
}

/* IPC_RMID while processes operate: each sees EIDRM or EINVAL, and no other error. */
static void removing_while_used(void)
{
    enum { PROCS = 4, ROUNDS = 30 };
    _Atomic long *count = count_operations();

    for (int r = 0; r < ROUNDS; r++) {
        int id = semget(IPC_PRIVATE, 1, 0600);
        pid_t pid[PROCS];

        EXPECT(id >= 0);
        *count = 0;
        for (int i = 0; i < PROCS; i++) {
            pid[i] = fork();
            if (pid[i] == 0) {
                while (operate(id, 0, i % 2 ? 1 : -1, SEM_UNDO) == 0 || errno == ERANGE)
                    ++*count;
                _exit(errno == EIDRM || errno == EINVAL ? 0 : errno);
            }
        }
        let_operate(count, r);
        end(id);
        for (int i = 0; i < PROCS; i++)
            EXPECT_EQ(status_of(pid[i]), 0);
    }
}

/* The line of /proc/sysvipc/`file` with this identifier, in line[]; false: there is none. */
static bool find_line(const char *file, int id, char *line, size_t size)
{
    FILE *f = fopen(file, "r");
    bool found = false;
    int key, got;

    EXPECT(f != NULL);
    while (!found && fgets(line, (int)size, f) != NULL)
        found = sscanf(line, "%d %d", &key, &got) == 2 && got == id;
    fclose(f);
    return found;
}

static void information(void)
{
    int id = new_set(5), msl, mns, opm, mni, top, got = -1, n, perms;
    struct seminfo si;
    struct semid_ds ds;
    char line[256];
    FILE *f = fopen("/proc/sys/kernel/sem", "r");

    EXPECT(f != NULL && fscanf(f, "%d %d %d %d", &msl, &mns, &opm, &mni) == 4);
    EXPECT_EQ(semctl(0, 0, IPC_INFO, (union arg){.info = &si}) >= 0, true);
    EXPECT(si.semmsl == msl && si.semmns == mns && si.semopm == opm && si.semmni == mni);
    EXPECT_EQ(si.semvmx, LARGEST);
    top = semctl(0, 0, SEM_INFO, (union arg){.info = &si});
    EXPECT(top >= 0 && si.semusz >= 1 && si.semaem >= 5);
    for (int i = 0; i <= top && got != id; i++)
        got = semctl(i, 0, SEM_STAT, (union arg){.buf = &ds});
    EXPECT_EQ(got, id);
    EXPECT_EQ(ds.sem_nsems, 5);
    EXPECT(find_line("/proc/sysvipc/sem", id, line, sizeof line));
    EXPECT(sscanf(line, "%*d %*d %o %d", &perms, &n) == 2 && n == 5 && perms == 0600);
    end(id);
}

static void shared_memory(void)
{
    int id = shmget(IPC_PRIVATE, 10000, 0600), top, got = -1, attached;
    struct shm_info used;
    struct shminfo most;
    struct shmid_ds ds;
    unsigned long size;
    char line[256], *p;
    FILE *f = fopen("/proc/sys/kernel/shmmax", "r");

    EXPECT(id >= 0);
    p = shmat(id, NULL, 0);
    shmctl(id, IPC_STAT, &ds);
    *p = 1;
    EXPECT(f != NULL && fscanf(f, "%lu", &size) == 1);
    EXPECT(shmctl(0, IPC_INFO, (void *)&most) >= 0);
    EXPECT_EQ(most.shmmax, size);
    top = shmctl(0, SHM_INFO, (void *)&used);
    EXPECT(top >= 0 && used.used_ids >= 1 && used.shm_tot >= 3 && used.shm_rss >= 1);
    for (int i = 0; i <= top && got != id; i++)
        got = shmctl(i, SHM_STAT, &ds);
    EXPECT_EQ(got, id);
    EXPECT_EQ(ds.shm_segsz, 10000);
    EXPECT(find_line("/proc/sysvipc/shm", id, line, sizeof line));
    EXPECT(sscanf(line, "%*d %*d %*o %lu %*d %*d %d", &size, &attached) == 2);
    EXPECT(size == 10000 && attached == 1);
    shmctl(id, IPC_RMID, NULL);
}

static const struct check list[] = {
    {"getting", getting},
    {"values", values},
    {"operations", operations},
    {"waiting", waiting},
    {"removing", removing},
    {"signals", signals},
    {"undo", undo},
    {"undo_of_many_sets", undo_of_many_sets},
    {"undo_of_threads", undo_of_threads},
    {"permissions", permissions},
    {"limits", limits},
    {"killing", killing},
    {"removing_while_used", removing_while_used},
    {"information", information},
    {"shared_memory", shared_memory},
};

CHECK_MAIN(list)
