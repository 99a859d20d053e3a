// SPDX-License-Identifier: MIT
/*
 * madv.c - madv.so.1: gives memory advice for programs that do not give it themselves (LD_PRELOAD=madv.so.1).
 *
 * THEORY      This is Solaris's object of that name.  When a program starts, the object looks up the advice for each
 *             kind of the program's memory: first in the first line of a file that matches the program, then in the
 *             environment variable MADV, which holds for all kinds.  It gives the advice for the heap at once, and
 *             memory that the heap gains inherits it.  It gives the advice for mappings and System V shared memory when
 *             the program makes them.  For this it wraps mmap() and shmat() of the C library, so mappings that the
 *             library and the loader make for themselves are not changed.  fork() copies the advice with the memory.  A
 *             program that is executed begins anew, with a look-up of its own.
 *             The object names no C library and uses only what musl and glibc have in common, so it works with both.
 *             Before it is set up it gives no advice, and later none of its data changes.  So it needs no locks.
 *             Every fault is only a message, and the program runs.
 * INVARIANTS  I1  a program behaves with the object as without it, except for where its pages lie and when they are
 *                 read
 *             I2  errno after a wrapped call is that of the call
 * TUNABLES    MADV, MADVCFGFILE, MADVERRFILE in the environment; MADVDEBUG if compiled with -DDEBUG
 * SEE ALSO    docs/userland.md, tests/test_dynamic.py; the manual page madv.so.1(1) of Solaris 9
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#define EXPORT       __attribute__((visibility("default")))
#define NAME         "madv.so.1"
#define DEFAULT_FILE "/etc/madv.conf"
#define LINE_MAX_    (PATH_MAX + 64) /* bytes of a line; Solaris's limit */

/* Solaris's segments of shared memory with shared and with pageable translations; these are flags of its shmat(2). */
#define ISM_FLAG  040000
#define DISM_FLAG 0100000

enum { NONE = -1 };

static const struct {
    const char *word;
    int value; /* for memcntl(2) */
} advices[] = {
    {"normal", 0},         {"random", 1},     {"sequential", 2},
    {"access_default", 6}, {"access_lwp", 7}, {"access_many", 8},
};

/* Kinds of memory, each with the kind whose advice it uses if it has none of its own. */
enum kind { MADV_, HEAP, SHM, ISM, DISM, MAP, MAPSHARED, MAPPRIVATE, MAPANON, KINDS };
static const struct {
    const char *option;
    enum kind general;
} kinds[KINDS] = {
    [MADV_] = {"madv", MADV_},        [HEAP] = {"heap", MADV_},
    [SHM] = {"shm", MADV_},           [ISM] = {"ism", SHM},
    [DISM] = {"dism", SHM},           [MAP] = {"map", MADV_},
    [MAPSHARED] = {"mapshared", MAP}, [MAPPRIVATE] = {"mapprivate", MAP},
    [MAPANON] = {"mapanon", MAP},
};

static int advice_of[KINDS] = {NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE};

static void *(*next_mmap)(void *, size_t, int, int, int, off_t);
static void *(*next_shmat)(int, const void *, int);

/* ---- messages -------------------------------------------------------------------------------- */

#ifdef DEBUG
enum { D_APPLIED = 1, D_PARSING = 2, D_SIZES = 4 };
static int debug;
#define TRACE(bits, ...)                                                                           \
    do {                                                                                           \
        if (debug & (bits))                                                                        \
            dprintf(2, NAME ": " __VA_ARGS__);                                                     \
    } while (0)
#else
#define TRACE(bits, ...)                                                                           \
    do {                                                                                           \
    } while (0)
#endif

static void to_syslog(const char *text)
{
    openlog(NAME, LOG_CONS, LOG_USER);
    syslog(LOG_ERR, "%s", text);
    closelog();
    openlog(NULL, 0, LOG_USER); /* the state of a program that has not called openlog() */
    closelog();
}

/* Writes a line to MADVERRFILE, or else to the system's log, which without a daemon is the console. */
static __attribute__((format(printf, 1, 2))) void complain(const char *format, ...)
{
    char text[LINE_MAX_ + 256];
    const char *path = getenv("MADVERRFILE");
    int start = snprintf(text, sizeof text, NAME ": "), saved = errno, fd, n;
    va_list ap;

    va_start(ap, format);
    n = start + vsnprintf(text + start, sizeof text - (size_t)start - 1, format, ap);
    va_end(ap);
    n = n < (int)sizeof text - 2 ? n : (int)sizeof text - 2;
    if (path == NULL || *path == '\0') {
        to_syslog(text + start);
    } else if ((fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) < 0) {
        char why[PATH_MAX + 128];

        snprintf(why, sizeof why, "%s: cannot open the error file: %s", path, strerror(errno));
        to_syslog(why);
        to_syslog(text + start);
    } else {
        text[n] = '\n';
        (void)!write(fd, text, (size_t)n + 1);
        close(fd);
    }
    errno = saved;
}

/* ---- the program and its advice ---- */

/* The value of an advice word; NONE if it is unknown. */
static int parse_advice(const char *word)
{
    for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++)
        if (strcmp(word, advices[i].word) == 0)
            return advices[i].value;
    return NONE;
}

/* The path with which the program was executed; a relative path is relative to the working directory. */
static const char *exec_path(void)
{
    static char full[2 * PATH_MAX];
    const char *given = (const char *)getauxval(AT_EXECFN);

    if (given == NULL)
        return "";
    if (*given == '/')
        return given;
    while (given[0] == '.' && given[1] == '/')
        given += 2;
    if (getcwd(full, PATH_MAX) == NULL)
        return given;
    strcat(strcat(full, "/"), given);
    return full;
}

static bool name_matches(const char *pattern, const char *path)
{
    const char *base = strrchr(path, '/');

    return fnmatch(pattern, *pattern == '/' || base == NULL ? path : base + 1, 0) == 0;
}

/* Whether an argument of the program (not its name) matches the pattern. */
static bool args_match(const char *pattern)
{
    FILE *f = fopen("/proc/self/cmdline", "re");
    char *arg = NULL;
    size_t size = 0;
    bool found = false;

    if (f == NULL)
        return false;
    for (int i = 0; !found && getdelim(&arg, &size, '\0', f) > 0; i++)
        found = i > 0 && fnmatch(pattern, arg, 0) == 0;
    free(arg);
    fclose(f);
    return found;
}

/* Takes the options of the matching line: opt=advice,opt=advice. */
static void take_options(char *text, const char *file, int line)
{
    char *rest;

    for (char *opt = strtok_r(text, ",", &rest); opt != NULL; opt = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(opt, '=');
        int kind = 0, advice;

        if (equals != NULL)
            *equals = '\0';
        while (kind < KINDS && strcmp(opt, kinds[kind].option) != 0)
            kind++;
        if (kind == KINDS)
            complain("%s: line %d: unknown option: %s", file, line, opt);
        else if (equals == NULL || equals[1] == '\0')
            complain("%s: line %d: option without advice: %s", file, line, opt);
        else if ((advice = parse_advice(equals + 1)) == NONE)
            complain("%s: line %d: bad advice: %s=%s", file, line, opt, equals + 1);
        else if (advice_of[kind] != NONE)
            complain("%s: line %d: option given twice: %s", file, line, opt);
        else
            advice_of[kind] = advice;
    }
}

/* Reads one line of the file.  Returns whether it matches the program; then its options are taken. */
static bool try_line(char *text, const char *path, const char *file, int line)
{
    char *colon, *blank;

    text[strcspn(text, "\n")] = '\0';
    if (*text == '\0' || *text == '#')
        return false;
    if ((colon = strrchr(text, ':')) == NULL) {
        complain("%s: line %d: no ':' between program and options: %s", file, line, text);
        return false;
    }
    *colon = '\0';
    if ((blank = strrchr(text, ' ')) != NULL)
        *blank = '\0';
    if (!name_matches(text, path) || (blank != NULL && !args_match(blank + 1)))
        return false;
    TRACE(D_PARSING, "%s: line %d fits %s, options %s\n", file, line, path, colon + 1);
    take_options(colon + 1, file, line);
    return true;
}

/* Returns whether a line of the file matches the program. */
static bool read_config(FILE *f, const char *file)
{
    const char *path = exec_path();
    char text[LINE_MAX_ + 2];
    bool found = false;

    for (int line = 1; !found && fgets(text, sizeof text, f) != NULL; line++) {
        if (strlen(text) == sizeof text - 1 && text[sizeof text - 2] != '\n') {
            complain("%s: line %d: longer than %d characters", file, line, LINE_MAX_);
            while (fgets(text, sizeof text, f) != NULL && strchr(text, '\n') == NULL)
                ;
            continue;
        }
        found = try_line(text, path, file, line);
    }
    return found;
}

static void configure(void)
{
    const char *file = getenv("MADVCFGFILE"), *word = getenv("MADV");
    bool named = file != NULL && *file != '\0', found = false;
    FILE *f = fopen(named ? file : DEFAULT_FILE, "re");

    if (f != NULL) {
        found = read_config(f, named ? file : DEFAULT_FILE);
        fclose(f);
    } else if (named) {
        complain("%s: cannot open the configuration file: %s", file, strerror(errno));
    }
    if (found || word == NULL || *word == '\0')
        return;
    advice_of[MADV_] = parse_advice(word);
    if (advice_of[MADV_] == NONE)
        complain("bad advice: MADV=%s", word);
}

/* ---- applying the advice ---- */

/* The advice for a kind: its own, or else that of the kind to which it belongs, and so on. */
static int lookup(enum kind kind)
{
    while (advice_of[kind] == NONE && kind != MADV_)
        kind = kinds[kind].general;
    return advice_of[kind];
}

static void advise(void *addr, size_t len, int advice, const char *what)
{
    int saved = errno;

    if (advice == NONE || len == 0)
        return;
    TRACE(D_APPLIED, "%s at %p: advice %d\n", what, addr, advice);
    TRACE(D_SIZES, "%s at %p: %zu bytes\n", what, addr, len);
    if (syscall(SYS_memcntl, addr, len, MC_ADVISE, (long)advice, 0L, 0L) != 0)
        complain("memcntl of %s at %p, %zu bytes: %s", what, addr, len, strerror(errno));
    errno = saved;
}

/* The start of the heap, from the list of mappings; 0: there is no heap yet. */
static unsigned long heap_start(void)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char text[PATH_MAX + 128];
    unsigned long start = 0;

    while (f != NULL && start == 0 && fgets(text, sizeof text, f) != NULL)
        if (strstr(text, "[heap]") != NULL)
            start = strtoul(text, NULL, 16);
    if (f != NULL)
        fclose(f);
    return start;
}

/*
 * Advises the present heap.  If there is none, makes one page of it first, from which later pages inherit the advice.
 */
static void advise_heap(int advice)
{
    unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE), start, end;

    if (advice == NONE)
        return;
    start = heap_start();
    end = (unsigned long)syscall(SYS_brk, 0L);
    if (start == 0) {
        start = (end + page - 1) / page * page;
        end = start + page;
        if ((unsigned long)syscall(SYS_brk, end) != end) {
            complain("sbrk of %lu bytes: %s", page, strerror(ENOMEM));
            return;
        }
    }
    advise((void *)start, end - start, advice, "heap");
}

static __attribute__((constructor)) void init(void)
{
    int saved = errno;

#ifdef DEBUG
    debug = getenv("MADVDEBUG") != NULL ? atoi(getenv("MADVDEBUG")) : 0;
#endif
    configure();
    advise_heap(lookup(HEAP));
    errno = saved;
}

/* mmap(2), and the advice for the new mapping. */
EXPORT void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
    enum kind kind = (flags & MAP_TYPE) == MAP_PRIVATE ? MAPPRIVATE : MAPSHARED;
    void *p;

    if (next_mmap == NULL)
        next_mmap = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    p = next_mmap(addr, len, prot, flags, fd, off);
    if (p != MAP_FAILED)
        advise(p, len,
               (flags & MAP_ANON) && advice_of[MAPANON] != NONE ? advice_of[MAPANON] : lookup(kind),
               "mapping");
    return p;
}

/* The name that glibc uses for programs with 64-bit offsets. */
#undef mmap64
EXPORT void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off)
    __attribute__((alias("mmap")));

/* shmat(2), and the advice for the whole segment. */
EXPORT void *shmat(int id, const void *addr, int flags)
{
    enum kind kind = flags & ISM_FLAG ? ISM : flags & DISM_FLAG ? DISM : SHM;
    struct shmid_ds ds;
    void *p;
    int saved;

    if (next_shmat == NULL)
        next_shmat = (void *(*)(int, const void *, int))dlsym(RTLD_NEXT, "shmat");
    p = next_shmat(id, addr, flags);
    saved = errno;
    if (p != (void *)-1 && lookup(kind) != NONE && shmctl(id, IPC_STAT, &ds) == 0)
        advise(p, ds.shm_segsz, lookup(kind), "shared memory");
    errno = saved;
    return p;
}
