// SPDX-License-Identifier: MIT
/*
 * coredump.c - writes the memory and the registers of a process that a signal ends to a file.
 *
 * THEORY      A debugger reads the file and shows where the program was when it ended.  The file is an ELF file of type
 *             ET_CORE, as Linux writes it: a note segment with the registers of threads and facts about the process,
 *             and a segment for each mapping.  Mappings of files that the process has not changed have no contents,
 *             because the debugger has these files.  Anonymous pages that were never touched become holes.
 *             The LWP that got the signal is the dumper.  It interrupts the other LWPs and waits until each has ended
 *             or sleeps in coredump_park(); then their registers do not change.  At the end all of them exit.
 *             The file is new, belongs to the process, and no other user can read it.  An old file of that name is
 *             removed first; a link is not followed.  No file is written for a process that is not dumpable, because
 *             its memory can have secrets of another user's program.
 * INVARIANTS  D1  while p->dumper is set, no other LWP of p runs in user mode once it has been interrupted, and
 *                 neither exec nor clone begins
 *             D2  SIGKILL ends the wait and the dump
 * LOCKING     proc_lock and [s] to begin and to end; no lock while the file is written
 * SEE ALSO    sigdeliver.c; core(5), elf(5)
 */
#include "disp/context.h"
#include "disp/timer.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "proc/elf.h"
#include "proc/ptrace.h"
#include "proc/uts.h"

enum { PT_LOAD = 1, PT_NOTE = 4, ET_CORE = 4, EM_X86_64 = 62 };
enum {
    NT_PRSTATUS = 1,
    NT_FPREGSET = 2,
    NT_PRPSINFO = 3,
    NT_AUXV = 6,
    NT_FILE = 0x46494c45,
    NT_SIGINFO = 0x53494749,
};
enum {
    AUXV_MAX = 512,  /* bytes; execstack.c writes less */
    CORE_NAME = 256, /* longest file name that a pattern can make, with NUL */
    FILE_PATH = 256, /* bytes for each path in NT_FILE; longer paths are left out */
    FILE_NOTE = 1 << 20,
    CORE_CHUNK = PAGE_SIZE,
};

struct core_timeval {
    int64_t sec, usec;
};

struct prstatus {
    int32_t signo, code, err;
    int16_t cursig;
    uint64_t sigpend, sighold;
    int32_t pid, ppid, pgrp, sid;
    struct core_timeval utime, stime, cutime, cstime;
    struct user_regs regs;
    int32_t fpvalid;
};

struct prpsinfo {
    int8_t state, sname, zombie, nice;
    uint64_t flag;
    uint32_t uid, gid;
    int32_t pid, ppid, pgrp, sid;
    char fname[16], psargs[80];
};

_Static_assert(sizeof(struct elf_ehdr) == 64 && sizeof(struct elf_phdr) == 56 &&
                   sizeof(struct prstatus) == 336 && sizeof(struct prpsinfo) == 136,
               "layout of Linux");

/* One mapping; `vn` has a reference. */
struct core_seg {
    uint64_t start, end, off, filesz;
    int prot;
    struct vnode *vn;
};

struct dump {
    struct file *f;
    struct proc *p;
    struct as *as;
    uint64_t pos, limit; /* bytes written, and how many may be */
    int err;             /* first error: nothing more is written */
    int sig;
    const struct siginfo *info;
    struct core_seg *seg;
    unsigned nsegs, nlwps;
    uint8_t *file_note; /* contents of NT_FILE */
    size_t file_note_len;
    uint8_t auxv[AUXV_MAX];
    size_t auxv_len;
    uint8_t page[CORE_CHUNK];
};

/* ---- the name of the file ---------------------------------------------------------------------------------- */

static struct spinlock pattern_lock = SPINLOCK_INIT(RANK_SIGHAND);
static char core_pattern[CORE_PATTERN_MAX] = "core";

void core_pattern_get(char *buf)
{
    spin_lock(&pattern_lock);
    memcpy(buf, core_pattern, sizeof core_pattern);
    spin_unlock(&pattern_lock);
}

int core_pattern_set(const char *pattern, size_t len)
{
    if (len >= CORE_PATTERN_MAX || (len > 0 && pattern[0] == '|'))
        return -EINVAL;
    spin_lock(&pattern_lock);
    memcpy(core_pattern, pattern, len);
    core_pattern[len] = '\0';
    spin_unlock(&pattern_lock);
    return 0;
}

/* Append what %c of a pattern stands for, to name[n]; returns the new length, at most CORE_NAME - 1. */
static size_t expand_pattern_char(char *name, size_t n, char c, int sig)
{
    size_t size = CORE_NAME - n, from = n;
    struct utsname u;

    switch (c) {
    case '%':
        n += (size_t)snprintf(name + n, size, "%%");
        break;
    case 'p':
    case 'P':
        n += (size_t)snprintf(name + n, size, "%d", curproc()->pid);
        break;
    case 'i':
    case 'I':
        n += (size_t)snprintf(name + n, size, "%u", curthread->tid);
        break;
    case 'u':
        n += (size_t)snprintf(name + n, size, "%u", curcred()->uid);
        break;
    case 'g':
        n += (size_t)snprintf(name + n, size, "%u", curcred()->gid);
        break;
    case 's':
        n += (size_t)snprintf(name + n, size, "%d", sig);
        break;
    case 't':
        n += (size_t)snprintf(name + n, size, "%lu", clock_real_ns() / 1000000000);
        break;
    case 'c':
        n += (size_t)snprintf(name + n, size, "%lu", limit(RLIMIT_CORE));
        break;
    case 'h':
        uts_get(&u);
        n += (size_t)snprintf(name + n, size, "%s", u.nodename);
        break;
    case 'e':
        n += (size_t)snprintf(name + n, size, "%s", curthread->name);
        break;
    default: /* as on Linux, an unknown letter is left out */
        break;
    }
    n = min_of(n, (size_t)CORE_NAME - 1);
    for (size_t i = from; i < n; i++) /* a program's name must not lead to another directory */
        if (name[i] == '/')
            name[i] = '!';
    return n;
}

/* Write the name of the core file to name[CORE_NAME]. */
static void make_core_name(char *name, int sig)
{
    char pattern[CORE_PATTERN_MAX];
    size_t n = 0;

    core_pattern_get(pattern);
    for (const char *s = pattern; *s != '\0' && n < CORE_NAME - 1; s++) {
        if (*s != '%')
            name[n++] = *s;
        else if (*++s == '\0')
            break;
        else
            n = expand_pattern_char(name, n, *s, sig);
    }
    name[n] = '\0';
}

/* Make the core file.  0 and *out, or an error. */
static int create_core_file(int sig, struct file **out)
{
    char name[CORE_NAME];
    struct fs_ctx ctx;
    int err;

    make_core_name(name, sig);
    fs_context(&ctx);
    (void)name_unlink(&ctx, NULL, name,
                      false); /* an old core file; other errors show again below */
    err = file_open(&ctx, NULL, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_LARGEFILE, 0600,
                    out);
    fs_context_done(&ctx);
    return err;
}

/* ---- writing ----------------------------------------------------------------------------------------------- */

static void emit_bytes(struct dump *d, const void *buf, size_t n)
{
    struct iovec v;
    struct uio uio;
    long got;

    if (d->err == 0 && d->pos + n > d->limit)
        d->err = -EFBIG;
    for (size_t done = 0; d->err == 0 && done < n; done += (size_t)got) {
        if (d->p->exiting) { /* SIGKILL (D2) */
            d->err = -EINTR;
            return;
        }
        uio_init_kernel(&uio, &v, (char *)(uintptr_t)buf + done, n - done, UIO_WRITE);
        got = file_write(d->f, &uio, (loff_t)d->pos);
        if (got <= 0) {
            d->err = got < 0 ? (int)got : -ENOSPC;
            return;
        }
        d->pos += (uint64_t)got;
    }
}

static size_t note_size(size_t len)
{
    return 12 + 8 + round_up(len, (size_t)4);
}

static void emit_note(struct dump *d, uint32_t type, const void *desc, size_t len)
{
    static const char name[8] = "CORE";
    uint32_t head[3] = {5, (uint32_t)len, type};
    static const uint8_t zeros[4];

    emit_bytes(d, head, sizeof head);
    emit_bytes(d, name, sizeof name);
    emit_bytes(d, desc, len);
    emit_bytes(d, zeros, round_up(len, (size_t)4) - len);
}

/* ---- the notes --------------------------------------------------------------------------------------------- */

static struct core_timeval timeval_of(uint64_t us)
{
    return (struct core_timeval){(int64_t)(us / 1000000), (int64_t)(us % 1000000)};
}

/* Fill in *st and the FPU state of one LWP of the process.  `l` does not run in user mode. */
static void take_lwp_status(struct dump *d, struct lwp *l, struct prstatus *st,
                            struct fpu_area *fpu)
{
    struct proc *p = d->p;
    struct rusage_kernel ru;

    memset(st, 0, sizeof *st);
    spin_lock(&proc_lock);
    rusage_lwp(l, &ru);
    st->signo = st->cursig = (int16_t)d->sig;
    st->sigpend = l->pending.set;
    st->sighold = l->sigmask;
    st->pid = (int32_t)l->t.tid;
    st->ppid = p->ppid;
    st->pgrp = p->pgrp->pgid;
    st->sid = p->pgrp->session->sid;
    st->cutime = timeval_of(p->waited.utime_us);
    st->cstime = timeval_of(p->waited.stime_us);
    spin_unlock(&proc_lock);
    st->utime = timeval_of(ru.utime_us);
    st->stime = timeval_of(ru.stime_us);
    user_regs_get(&st->regs, l->t.uregs, l->t.fsbase, l->t.gsbase);
    st->fpvalid = 1;
    memcpy(fpu, l->t.fpu, sizeof *fpu);
}

static void emit_prpsinfo(struct dump *d)
{
    struct proc *p = d->p;
    struct prpsinfo ps = {.sname = 'R', .nice = (int8_t)p->nice};
    size_t n = (size_t)min_of(p->arg_end - p->arg_start, (uint64_t)sizeof ps.psargs - 1);

    spin_lock(&proc_lock);
    ps.uid = curcred()->uid;
    ps.gid = curcred()->gid;
    ps.pid = p->pid;
    ps.ppid = p->ppid;
    ps.pgrp = p->pgrp->pgid;
    ps.sid = p->pgrp->session->sid;
    spin_unlock(&proc_lock);
    str_copy(ps.fname, curthread->name, sizeof ps.fname);
    if (as_access_remote(d->as, p->arg_start, ps.psargs, n, ACCESS_READ) != (long)n)
        memset(ps.psargs, 0, sizeof ps.psargs);
    for (size_t i = 0; i + 1 < n; i++)
        if (ps.psargs[i] == '\0')
            ps.psargs[i] = ' ';
    emit_note(d, NT_PRPSINFO, &ps, sizeof ps);
}

/* Write the notes.  Their sizes are those of notes_size(). */
static void emit_notes(struct dump *d)
{
    struct lwp *me = curlwp(), *l;
    struct {
        struct prstatus st;
        struct fpu_area fpu;
    } *one = kmem_alloc(sizeof *one);

    if (one == NULL) {
        d->err = -ENOMEM;
        return;
    }
    take_lwp_status(d, me, &one->st, &one->fpu);
    emit_note(d, NT_PRSTATUS, &one->st, sizeof one->st);
    emit_prpsinfo(d);
    emit_note(d, NT_SIGINFO, d->info, sizeof *d->info);
    emit_note(d, NT_AUXV, d->auxv, d->auxv_len);
    emit_note(d, NT_FILE, d->file_note, d->file_note_len);
    emit_note(d, NT_FPREGSET, &one->fpu, sizeof one->fpu);
    LIST_FOREACH (l, &d->p->lwps, proc_link) { /* the list does not change: all others are parked */
        if (l == me)
            continue;
        take_lwp_status(d, l, &one->st, &one->fpu);
        emit_note(d, NT_PRSTATUS, &one->st, sizeof one->st);
        emit_note(d, NT_FPREGSET, &one->fpu, sizeof one->fpu);
    }
    kmem_free(one);
}

static size_t notes_size(const struct dump *d)
{
    return note_size(sizeof(struct prpsinfo)) + note_size(sizeof *d->info) +
           note_size(d->auxv_len) + note_size(d->file_note_len) +
           d->nlwps * (note_size(sizeof(struct prstatus)) + note_size(sizeof(struct fpu_area)));
}

/*
 * Make the contents of NT_FILE: the number of mapped files, the page size, start, end and offset in pages for each
 * mapping, then the paths.  0 or -ENOMEM.
 */
static int make_file_note(struct dump *d)
{
    struct fs_ctx ctx = {.root = vfs_root, .cwd = vfs_root, .cred = curcred()};
    size_t nfiles = 0, size, at, i = 0;
    uint64_t *word;

    for (unsigned k = 0; k < d->nsegs; k++)
        nfiles += d->seg[k].vn != NULL;
    nfiles = min_of(nfiles, (size_t)FILE_NOTE / (FILE_PATH + 24));
    size = 16 + nfiles * (24 + FILE_PATH);
    d->file_note = kmem_alloc(size);
    if (d->file_note == NULL)
        return -ENOMEM;
    word = (uint64_t *)d->file_note;
    at = 16 + nfiles * 24;
    for (unsigned k = 0; k < d->nsegs && i < nfiles; k++) {
        struct core_seg *s = &d->seg[k];
        int n;

        if (s->vn == NULL)
            continue;
        n = name_of(&ctx, s->vn, (char *)d->file_note + at, FILE_PATH - 1);
        at += n > 0 ? (size_t)n : 0;
        d->file_note[at++] = '\0';
        word[2 + 3 * i] = s->start;
        word[3 + 3 * i] = s->end;
        word[4 + 3 * i] = s->off / PAGE_SIZE;
        i++;
    }
    word[0] = nfiles;
    word[1] = PAGE_SIZE;
    d->file_note_len = at;
    return 0;
}

/* ---- the memory -------------------------------------------------------------------------------------------- */

/*
 * How many bytes of a mapping are in the file.  Linux's default: memory that is not of a file,
 * private mappings that the process has changed, and the first page of a file, by which a debugger identifies it.
 * Nothing after MADV_DONTDUMP; the code of the vDSO is always there.
 */
static uint64_t bytes_to_dump(const struct seg_info *s)
{
    bool shared = (s->flags & MAP_SHARED) != 0;

    if (s->prot == 0 || (s->nodump && s->what != SEG_VDSO))
        return 0;
    if (s->vn == NULL || (!shared && ((s->prot & PROT_WRITE) != 0 || s->anon_pages != 0)))
        return s->end - s->start;
    return !shared && s->off == 0 ? PAGE_SIZE : 0;
}

/* Note the mappings of the process.  0 or -ENOMEM.  Another process with the same memory can change them meanwhile. */
static int list_segments(struct dump *d)
{
    struct seg_info s;
    unsigned n = 0;

    for (uint64_t at = 0; as_next_seg(d->as, at, &s) == 0; at = s.end, n++)
        if (s.vn != NULL)
            vn_release(s.vn);
    d->seg = kmem_alloc((n + 1) * sizeof d->seg[0]);
    if (d->seg == NULL)
        return -ENOMEM;
    for (uint64_t at = 0; d->nsegs < n && as_next_seg(d->as, at, &s) == 0; at = s.end)
        d->seg[d->nsegs++] = (struct core_seg){
            .start = s.start,
            .end = s.end,
            .off = s.off,
            .filesz = bytes_to_dump(&s),
            .prot = s.prot,
            .vn = s.vn,
        };
    return 0;
}

static void emit_headers(struct dump *d)
{
    struct elf_ehdr eh = {
        .ident = {0x7f, 'E', 'L', 'F', 2, 1, 1},
        .type = ET_CORE,
        .machine = EM_X86_64,
        .version = 1,
        .phoff = sizeof eh,
        .ehsize = sizeof eh,
        .phentsize = sizeof(struct elf_phdr),
        .phnum = (uint16_t)(d->nsegs + 1),
    };
    struct elf_phdr ph = {.type = PT_NOTE, .filesz = notes_size(d), .align = 4};

    emit_bytes(d, &eh, sizeof eh);
    ph.off = sizeof eh + (d->nsegs + 1) * sizeof ph;
    emit_bytes(d, &ph, sizeof ph);
    ph.off = round_up(ph.off + ph.filesz, PAGE_SIZE);
    for (unsigned i = 0; i < d->nsegs; i++) {
        const struct core_seg *s = &d->seg[i];

        ph = (struct elf_phdr){
            .type = PT_LOAD,
            .flags = (uint32_t)((s->prot & PROT_READ ? 4 : 0) | (s->prot & PROT_WRITE ? 2 : 0) |
                                (s->prot & PROT_EXEC ? 1 : 0)),
            .off = ph.off,
            .vaddr = s->start,
            .filesz = s->filesz,
            .memsz = s->end - s->start,
            .align = PAGE_SIZE,
        };
        emit_bytes(d, &ph, sizeof ph);
        ph.off += ph.filesz;
    }
}

/* Write the contents of one mapping at the current position.  What cannot be read is left as a hole. */
static void emit_segment(struct dump *d, const struct core_seg *s)
{
    uint64_t end = s->start + s->filesz, base = d->pos, next;

    for (uint64_t at = s->start; at < end && d->err == 0; at += PAGE_SIZE) {
        if (s->vn == NULL) {
            next = round_down(as_skip_absent(d->as, at, end), PAGE_SIZE);
            at = max_of(at, next);
            if (at >= end)
                break;
        }
        if (d->p->exiting)
            d->err = -EINTR;
        if ((s->vn == NULL && as_is_untouched(d->as, at)) ||
            as_access_remote(d->as, at, d->page, PAGE_SIZE, ACCESS_READ) != (long)PAGE_SIZE)
            continue;
        d->pos = base + (at - s->start);
        emit_bytes(d, d->page, PAGE_SIZE);
    }
    d->pos = base + s->filesz;
}

/* Write the whole file.  Returns d->err. */
static int write_core_file(struct dump *d)
{
    struct proc *p = d->p;
    static const uint8_t zero[1];
    uint64_t end;

    d->err = list_segments(d);
    if (d->err == 0)
        d->err = make_file_note(d);
    d->auxv_len = (size_t)min_of(p->auxv_end - p->auxv_start, (uint64_t)AUXV_MAX);
    memset(d->auxv, 0, sizeof d->auxv);
    (void)as_access_remote(d->as, p->auxv_start, d->auxv, d->auxv_len, ACCESS_READ);
    if (d->err != 0)
        return d->err;
    emit_headers(d);
    emit_notes(d);
    d->pos = round_up(d->pos, PAGE_SIZE);
    for (unsigned i = 0; i < d->nsegs && d->err == 0; i++)
        emit_segment(d, &d->seg[i]);
    end = d->pos;
    d->pos = end - 1;
    if (d->err == 0 && d->f->vn->size < end) /* the last page is a hole: give the file its size */
        emit_bytes(d, zero, sizeof zero);
    return d->err;
}

static bool dump_process(int sig, const struct siginfo *info)
{
    struct dump *d = kmem_zalloc(sizeof *d);
    int err;

    if (d == NULL)
        return false;
    d->p = curproc();
    d->as = curthread->as;
    d->sig = sig;
    d->info = info;
    d->limit = limit(RLIMIT_CORE);
    d->nlwps = d->p->nlwps;
    err = create_core_file(sig, &d->f);
    if (err == 0) {
        err = write_core_file(d);
        file_release(d->f);
    }
    for (unsigned i = 0; i < d->nsegs; i++)
        if (d->seg[i].vn != NULL)
            vn_release(d->seg[i].vn);
    kmem_free(d->seg);
    kmem_free(d->file_note);
    kmem_free(d);
    return err == 0;
}

/* ---- the other LWPs ---------------------------------------------------------------------------------------- */

void coredump_park(struct lwp *l)
{
    struct proc *p = l->proc;

    thread_fpu_save(&l->t);
    spin_lock(&proc_lock);
    if (p->dumper != NULL) {
        p->nparked++;
        cv_broadcast(&p->child_cv);
        while (p->dumper != NULL)
            cv_wait_spin(&p->stop_cv, &proc_lock, "core dump");
    }
    spin_unlock(&proc_lock);
}

/* Become the dumper, and wait until no other LWP runs in user mode.  false: the process ends already, or execs. */
static bool park_other_lwps(struct lwp *l)
{
    struct proc *p = l->proc;
    bool begin;

    spin_lock(&proc_lock);
    spin_lock(&p->sig->lock);
    begin = !p->exiting && p->execing == NULL && p->dumper == NULL;
    if (begin) {
        p->dumper = l;
        p->nparked = 0;
        p->stopped = p->stop_taken = false;
        lwps_interrupt(p, l);
        cv_broadcast(&p->stop_cv);
    }
    spin_unlock(&p->sig->lock);
    while (begin && p->nparked + 1 < p->nlwps)
        cv_wait_spin(&p->child_cv, &proc_lock, "core dump");
    spin_unlock(&proc_lock);
    return begin;
}

void coredump_end_process(int sig, const struct siginfo *info)
{
    struct lwp *l = curlwp();
    struct proc *p = l->proc;
    bool dumped = false;

    if (!p->dumpable || limit(RLIMIT_CORE) < PAGE_SIZE || !park_other_lwps(l))
        return;
    sig_mask_set(~SIGBIT(SIGKILL)); /* no other signal interrupts the writes */
    thread_fpu_save(&l->t);
    if (!p->exiting)
        dumped = dump_process(sig, info);
    spin_lock(&proc_lock);
    spin_lock(&p->sig->lock);
    p->dumper = NULL;
    if (!p->exiting)
        sig_end_process(p, dumped ? sig | 0x80 : sig);
    cv_broadcast(&p->stop_cv);
    spin_unlock(&p->sig->lock);
    spin_unlock(&proc_lock);
}
