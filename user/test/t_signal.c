// SPDX-License-Identifier: MIT
/*
 * t_signal.c - signals: delivery, masks, frames, restart, queues.
 */
#include "check.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

static volatile sig_atomic_t count, last, depth, order[16];

static void on_signal(int signal)
{
    order[count & 15] = signal;
    count++;
    last = signal;
}

static void catch (int signal, void (*handler)(int), int flags)
{
    struct sigaction sa = {.sa_handler = handler, .sa_flags = flags};

    EXPECT_EQ(sigaction(signal, &sa, NULL), 0);
}

static void delivered(void)
{
    catch (SIGUSR1, on_signal, 0);
    EXPECT_EQ(raise(SIGUSR1), 0);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(kill(getpid(), SIGUSR1), 0);
    EXPECT_EQ(count, 2);
    EXPECT_ERR(kill(getpid(), 99), EINVAL);
    EXPECT_EQ(kill(getpid(), 0), 0);
    EXPECT_ERR(kill(INT_MAX, SIGTERM), ESRCH);
}

static void blocked_waits(void)
{
    sigset_t mask, old, pending;

    catch (SIGUSR1, on_signal, 0);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    EXPECT_EQ(sigprocmask(SIG_BLOCK, &mask, &old), 0);
    raise(SIGUSR1);
    raise(SIGUSR1);
    EXPECT_EQ(count, 0);
    EXPECT_EQ(sigpending(&pending), 0);
    EXPECT(sigismember(&pending, SIGUSR1));
    EXPECT_EQ(sigprocmask(SIG_SETMASK, &old, NULL), 0);
    EXPECT_EQ(count, 1); /* ordinary signals do not queue */
}

static atomic_int second_taken, second_lost;

static void on_first(int signal)
{
    for (int i = 0; i < 2000 && !second_taken; i++)
        usleep(1000);
    second_lost += !second_taken;
    count++;
}

static void on_second(int signal)
{
    second_taken = 1;
}

static void *take_second(void *arg)
{
    sigset_t mask;

    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    for (;;)
        pause();
    return arg;
}

/*
 * Two signals wait for one thread.  While the handler of the first blocks the second, another thread takes the second.
 */
static void handler_mask_leaves_signals_to_others(void)
{
    struct sigaction sa = {.sa_handler = on_first, .sa_flags = SA_RESTART};
    pthread_t thread;

    sigaddset(&sa.sa_mask, SIGUSR2);
    EXPECT_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
    catch (SIGUSR2, on_second, SA_RESTART);
    EXPECT_EQ(pthread_create(&thread, NULL, take_second, NULL), 0);
    for (int round = 1; round <= 20 && second_lost == 0; round++) {
        second_taken = 0;
        pid_t sender = fork();

        if (sender == 0) {
            kill(getppid(), SIGUSR1);
            kill(getppid(), SIGUSR2);
            _exit(0);
        }
        while (count < round)
            ;
        waitpid(sender, NULL, 0);
    }
    EXPECT_EQ(second_lost, 0);
}

static void realtime_queues(void)
{
    sigset_t mask, old;
    union sigval value = {0};

    catch (SIGRTMIN, on_signal, 0);
    catch (SIGRTMIN + 1, on_signal, 0);
    sigemptyset(&mask);
    sigaddset(&mask, SIGRTMIN);
    sigaddset(&mask, SIGRTMIN + 1);
    sigprocmask(SIG_BLOCK, &mask, &old);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(sigqueue(getpid(), SIGRTMIN + 1, value), 0);
        EXPECT_EQ(sigqueue(getpid(), SIGRTMIN, value), 0);
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    EXPECT_EQ(count, 6);
}

static void mask_in_handler(int signal)
{
    sigset_t now;

    sigprocmask(SIG_BLOCK, NULL, &now);
    last = sigismember(&now, SIGUSR1) + 2 * sigismember(&now, SIGUSR2);
    if (signal == SIGUSR1 && depth++ == 0)
        raise(SIGUSR1); /* blocked until the handler returns, unless SA_NODEFER */
    count++;
}

static void handler_mask(void)
{
    struct sigaction sa = {.sa_handler = mask_in_handler};
    sigset_t now;

    sigaddset(&sa.sa_mask, SIGUSR2);
    sigaction(SIGUSR1, &sa, NULL);
    raise(SIGUSR1);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(last, 3);
    sigprocmask(SIG_BLOCK, NULL, &now);
    EXPECT(!sigismember(&now, SIGUSR1) && !sigismember(&now, SIGUSR2));
}

static void one_shot(void)
{
    struct sigaction sa;

    catch (SIGUSR1, on_signal, SA_RESETHAND);
    raise(SIGUSR1);
    EXPECT_EQ(sigaction(SIGUSR1, NULL, &sa), 0);
    EXPECT(sa.sa_handler == SIG_DFL);
    EXPECT_ERR(sigaction(SIGKILL, &(struct sigaction){.sa_handler = SIG_IGN}, NULL), EINVAL);
}

static volatile siginfo_t seen;

static void on_info(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    seen = *info;
    count++;
}

static void information(void)
{
    struct sigaction sa = {.sa_sigaction = on_info, .sa_flags = SA_SIGINFO};
    union sigval value = {.sival_int = 4711};
    int status;
    pid_t pid;

    sigaction(SIGUSR1, &sa, NULL);
    sigaction(SIGCHLD, &sa, NULL);
    kill(getpid(), SIGUSR1);
    EXPECT(seen.si_signo == SIGUSR1 && seen.si_code == SI_USER && seen.si_pid == getpid());
    EXPECT_EQ(sigqueue(getpid(), SIGUSR1, value), 0);
    EXPECT(seen.si_code == SI_QUEUE && seen.si_value.sival_int == 4711);
    if ((pid = fork()) == 0)
        _exit(5);
    while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
        ;
    EXPECT(seen.si_signo == SIGCHLD && seen.si_pid == pid && seen.si_status == 5);
    EXPECT_EQ(seen.si_code, CLD_EXITED);
}

static void *on_stack;

static void note_stack(int signal)
{
    (void)signal;
    on_stack = __builtin_frame_address(0);
}

static void alternate_stack(void)
{
    static char stack[65536];
    stack_t ss = {.ss_sp = stack, .ss_size = sizeof stack}, old;

    EXPECT_EQ(sigaltstack(&ss, NULL), 0);
    EXPECT_EQ(sigaltstack(NULL, &old), 0);
    EXPECT(old.ss_sp == stack && old.ss_flags == 0);
    for (int flags = 3; flags < 64; flags++) { /* 1 and 2 are known flags, but not both together */
        ss.ss_flags = flags;
        EXPECT_ERR(syscall(SYS_sigaltstack, &ss, NULL), EINVAL);
    }
    catch (SIGUSR1, note_stack, SA_ONSTACK);
    raise(SIGUSR1);
    EXPECT((char *)on_stack >= stack && (char *)on_stack < stack + sizeof stack);
    catch (SIGUSR1, note_stack, 0);
    raise(SIGUSR1);
    EXPECT((char *)on_stack < stack || (char *)on_stack >= stack + sizeof stack);
}

/* Whether a process sleeps, in a system call that a signal can interrupt. */
static bool is_asleep(pid_t pid)
{
    char path[64], line[256] = "", *end;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if ((f = fopen(path, "r")) == NULL)
        return false;
    (void)!fgets(line, sizeof line, f);
    fclose(f);
    end = strrchr(line, ')');
    return end != NULL && end[2] == 'S';
}

/* Makes a child that sends this process a signal once this process sleeps. */
static pid_t signal_me_later(int signal)
{
    pid_t parent = getpid(), pid = fork();

    if (pid == 0) {
        do
            usleep(10000);
        while (!is_asleep(parent));
        kill(parent, signal);
        nanosleep(&(struct timespec){0, 100 * 1000 * 1000}, NULL);
        _exit(0);
    }
    return pid;
}

static void interrupts_read(void)
{
    int fd[2];
    char c;

    EXPECT_EQ(pipe(fd), 0);
    catch (SIGUSR1, on_signal, 0);
    signal_me_later(SIGUSR1);
    EXPECT_ERR(read(fd[0], &c, 1), EINTR);
    EXPECT_EQ(count, 1);
}

static int wake_fd;

static void write_byte(int signal)
{
    (void)signal;
    count++;
    if (write(wake_fd, "x", 1) != 1)
        abort();
}

static void restarts_read(void)
{
    int fd[2];
    char c = 0;

    EXPECT_EQ(pipe(fd), 0);
    wake_fd = fd[1];
    catch (SIGUSR1, write_byte, SA_RESTART);
    signal_me_later(SIGUSR1);
    EXPECT_EQ(read(fd[0], &c, 1), 1);
    EXPECT_EQ(c, 'x');
    EXPECT_EQ(count, 1);
}

static void interrupts_sleep(void)
{
    struct timespec wanted = {1000, 0}, left = {0};

    catch (SIGUSR1, on_signal, SA_RESTART); /* nanosleep is never restarted after a handler */
    signal_me_later(SIGUSR1);
    EXPECT_ERR(nanosleep(&wanted, &left), EINTR);
    EXPECT(left.tv_sec >= 900 && left.tv_sec < 1000);
}

static void suspend_and_pause(void)
{
    sigset_t mask, none;

    catch (SIGUSR1, on_signal, 0);
    sigemptyset(&mask);
    sigemptyset(&none);
    sigaddset(&mask, SIGUSR1);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    raise(SIGUSR1);
    EXPECT_ERR(sigsuspend(&none), EINTR);
    EXPECT_EQ(count, 1);
    sigprocmask(SIG_BLOCK, NULL, &none);
    EXPECT(sigismember(&none, SIGUSR1));
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
    signal_me_later(SIGUSR1);
    EXPECT_ERR(pause(), EINTR);
}

static void timed_wait(void)
{
    sigset_t mask;
    siginfo_t info;
    struct timespec short_time = {0, 30 * 1000 * 1000};

    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    EXPECT_ERR(sigtimedwait(&mask, &info, &short_time), EAGAIN);
    raise(SIGUSR1);
    EXPECT_EQ(sigwaitinfo(&mask, &info), SIGUSR1);
}

static void interval_timer(void)
{
    struct itimerval timer = {{0, 20000}, {0, 20000}}, off = {{0, 0}, {0, 0}};

    catch (SIGALRM, on_signal, SA_RESTART);
    EXPECT_EQ(setitimer(ITIMER_REAL, &timer, NULL), 0);
    while (count < 3)
        pause();
    EXPECT_EQ(setitimer(ITIMER_REAL, &off, &timer), 0);
    EXPECT_EQ(timer.it_interval.tv_usec, 20000);
}

static void broken_pipe(void)
{
    int fd[2];

    EXPECT_EQ(pipe(fd), 0);
    close(fd[0]);
    catch (SIGPIPE, on_signal, 0);
    EXPECT_ERR(write(fd[1], "x", 1), EPIPE);
    EXPECT_EQ(count, 1);
}

static void change_rax(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;

    (void)signal;
    (void)info;
    uc->uc_mcontext.gregs[REG_RAX] = 1234;
    uc->uc_mcontext.gregs[REG_RIP] += 2; /* skips the two bytes of ud2 */
}

static void frame_is_writable(void)
{
    struct sigaction sa = {.sa_sigaction = change_rax, .sa_flags = SA_SIGINFO};
    long rax = 0;

    sigaction(SIGILL, &sa, NULL);
    __asm__ volatile("ud2" : "+a"(rax));
    EXPECT_EQ(rax, 1234);
}

static void use_fpu(int signal)
{
    volatile double x = 3.0;

    (void)signal;
    __asm__ volatile("pxor %%xmm7, %%xmm7" ::: "xmm7");
    x = x * x;
    count++;
}

static void fpu_is_kept(void)
{
    uint64_t before = 0x1122334455667788, after = 0;
    long pid = getpid();

    catch (SIGUSR1, use_fpu, 0);
    __asm__ volatile("movq %[in], %%xmm7\n\t"
                     "movl %[kill], %%eax\n\t"
                     "movq %[pid], %%rdi\n\t"
                     "movl %[usr1], %%esi\n\t"
                     "syscall\n\t"
                     "movq %%xmm7, %[out]"
                     : [out] "=r"(after)
                     : [in] "r"(before), [kill] "i"(SYS_kill), [pid] "r"(pid), [usr1] "i"(SIGUSR1)
                     : "rax", "rdi", "rsi", "rcx", "r11", "xmm7", "memory");
    EXPECT_EQ(count, 1);
    EXPECT_EQ(after, before);
}

static sigjmp_buf escape;

static void jump_out(int signal, siginfo_t *info, void *context)
{
    (void)context;
    seen = *info;
    last = signal;
    siglongjmp(escape, 1);
}

static void faults_name_their_cause(void)
{
    struct sigaction sa = {.sa_sigaction = jump_out, .sa_flags = SA_SIGINFO};
    static const int fatal[] = {SIGSEGV, SIGFPE, SIGILL, SIGTRAP};
    volatile int zero = 0;
    volatile uintptr_t low = 16;

    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        sigaction(fatal[i], &sa, NULL);
    if (sigsetjmp(escape, 1) == 0)
        *(volatile int *)low = 1;
    EXPECT(last == SIGSEGV && seen.si_addr == (void *)16 && seen.si_code == SEGV_MAPERR);
    if (sigsetjmp(escape, 1) == 0)
        zero = 17 / zero;
    EXPECT(last == SIGFPE && seen.si_code == FPE_INTDIV);
    if (sigsetjmp(escape, 1) == 0)
        __asm__ volatile("hlt");
    EXPECT_EQ(last, SIGSEGV);
    if (sigsetjmp(escape, 1) == 0)
        __asm__ volatile("int3");
    EXPECT_EQ(last, SIGTRAP);
}

static void ignored_and_default(void)
{
    int status;
    pid_t pid;

    catch (SIGTERM, SIG_IGN, 0);
    raise(SIGTERM);
    if ((pid = fork()) == 0) {
        execl("/bin/sh", "sh", "-c", "kill -TERM $$; exit 4", (char *)NULL);
        _exit(1);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(WEXITSTATUS(status), 4); /* an ignored signal stays ignored after exec */
    catch (SIGTERM, on_signal, 0);
    if ((pid = fork()) == 0) {
        execl("/bin/sh", "sh", "-c", "kill -TERM $$; exit 4", (char *)NULL);
        _exit(1);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    /* a handler becomes the default action */
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void *take_signal(void *arg)
{
    sigset_t mask;
    int got;

    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigwait(&mask, &got);
    *(int *)arg = got;
    return NULL;
}

static void to_one_thread(void)
{
    pthread_t thread;
    sigset_t mask;
    int got = 0;

    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    EXPECT_EQ(pthread_create(&thread, NULL, take_signal, &got), 0);
    EXPECT_EQ(pthread_kill(thread, SIGUSR2), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    EXPECT_EQ(got, SIGUSR2);
}

static void bad_stack_kills(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        catch (SIGSEGV, on_signal, 0);
        __asm__ volatile("mov $8, %%rsp\n\tpush %%rax" ::: "memory");
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void jump_nowhere(int sig, siginfo_t *info, void *context)
{
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] = (greg_t)0x8000000000000000ull;
}

static void survive(int sig, siginfo_t *info, void *context)
{
    _exit(7);
}

/*
 * A return to an address that IRET refuses (QEMU's IRET accepts it, and the fetch fails): SIGSEGV, which can be caught.
 */
static void bad_return_is_a_signal(void)
{
    for (int caught = 0; caught < 2; caught++) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            struct sigaction sa = {.sa_sigaction = jump_nowhere, .sa_flags = SA_SIGINFO};
            char stack[16384];
            stack_t alt = {.ss_sp = stack, .ss_size = sizeof stack};

            sigaction(SIGUSR1, &sa, NULL);
            sa.sa_sigaction = survive;
            sa.sa_flags |= SA_ONSTACK;
            sigaltstack(&alt, NULL);
            if (caught)
                sigaction(SIGSEGV, &sa, NULL);
            raise(SIGUSR1);
            _exit(0);
        }
        EXPECT_EQ(waitpid(pid, &status, 0), pid);
        if (caught)
            EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        else
            EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    }
}

/* iret and lret of a program to a selector that it may not use. */
static void bad_selectors(void)
{
    static const unsigned long selectors[] = {0, 3, 0x10, 0xb, 0xf, 0xfffb};

    for (unsigned i = 0; i < 2 * sizeof selectors / sizeof selectors[0]; i++) {
        unsigned long sel = selectors[i / 2];
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            if (i % 2 == 0)
                __asm__ volatile(
                    "movq %%rsp, %%rax\n pushq $0x2b\n pushq %%rax\n pushfq\n pushq %0\n"
                    "leaq 1f(%%rip), %%rcx\n pushq %%rcx\n iretq\n1:" ::"r"(sel)
                    : "rax", "rcx", "memory");
            else
                __asm__ volatile(
                    "pushq %0\n leaq 1f(%%rip), %%rcx\n pushq %%rcx\n lretq\n1:" ::"r"(sel)
                    : "rcx", "memory");
            _exit(0);
        }
        EXPECT_EQ(waitpid(pid, &status, 0), pid);
        EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    }
}

static const struct check list[] = {
    {"bad_selectors", bad_selectors},
    {"delivered", delivered},
    {"blocked_waits", blocked_waits},
    {"handler_mask_leaves_signals_to_others", handler_mask_leaves_signals_to_others},
    {"realtime_queues", realtime_queues},
    {"handler_mask", handler_mask},
    {"one_shot", one_shot},
    {"information", information},
    {"alternate_stack", alternate_stack},
    {"interrupts_read", interrupts_read},
    {"restarts_read", restarts_read},
    {"interrupts_sleep", interrupts_sleep},
    {"suspend_and_pause", suspend_and_pause},
    {"timed_wait", timed_wait},
    {"interval_timer", interval_timer},
    {"broken_pipe", broken_pipe},
    {"frame_is_writable", frame_is_writable},
    {"fpu_is_kept", fpu_is_kept},
    {"faults_name_their_cause", faults_name_their_cause},
    {"ignored_and_default", ignored_and_default},
    {"to_one_thread", to_one_thread},
    {"bad_stack_kills", bad_stack_kills},
    {"bad_return_is_a_signal", bad_return_is_a_signal},
};
CHECK_MAIN(list)
