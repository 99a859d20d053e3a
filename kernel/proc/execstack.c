// SPDX-License-Identifier: MIT
/*
 * execstack.c - build the stack with which a program starts.
 *
 * THEORY      From the stack pointer upwards the stack has argc, the argument pointers, NULL, the
 *             environment pointers, NULL and the auxiliary vector.  Then follow 16 random bytes, the
 *             platform's name, the strings themselves and the path.  The kernel builds all of this in one
 *             buffer and copies the buffer to the new address space.
 *             The top of the stack, and the position of the pointer within a page, are random.
 */
#include "proc/exec.h"

#include "lib/errno.h"
#include "lib/crng.h"
#include "lib/string.h"
#include "proc/vdso.h"

enum {
    AT_NULL,
    AT_PHDR = 3,
    AT_PHENT,
    AT_PHNUM,
    AT_PAGESZ,
    AT_BASE,
    AT_FLAGS,
    AT_ENTRY,
    AT_UID = 11,
    AT_EUID,
    AT_GID,
    AT_EGID,
    AT_PLATFORM,
    AT_HWCAP,
    AT_CLKTCK,
    AT_SECURE = 23,
    AT_RANDOM = 25,
    AT_HWCAP2,
    AT_EXECFN = 31,
    AT_SYSINFO_EHDR = 33,
    AT_MINSIGSTKSZ = 51,
    NAUX = 21
};
#define STACK_PAGES (1ul << 15)   /* the top of the stack varies over this many pages: 128 MiB */
#define STACK_FIRST (128ul << 10) /* bytes mapped at first, beyond the arguments */
#define MIN_ARGS    (128ul << 10)

static const char platform[] = "x86_64";

static uint32_t cpu_features(void)
{
    uint32_t a = 1, b, c = 0, d;

    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return d;
}

/* Store at v the user addresses of n consecutive strings, and NULL.  Moves *s past them.  Returns the end. */
static uint64_t *put_string_pointers(uint64_t *v, const char **s, const char *kbase, uint64_t ubase,
                                     unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        *v++ = ubase + (uint64_t)(*s - kbase);
        *s += strlen(*s) + 1;
    }
    *v++ = 0;
    return v;
}

/* Store the auxiliary vector at v.  Returns the end. */
static uint64_t *put_auxv(uint64_t *v, const struct exec *x, const struct cred *cr, uint64_t random,
                          uint64_t plat, uint64_t execfn)
{
    const struct elf_image *e = &x->main.elf;
    const uint64_t pairs[NAUX][2] = {
        {AT_SYSINFO_EHDR, x->vdso},
        {AT_HWCAP, cpu_features()},
        {AT_PAGESZ, PAGE_SIZE},
        {AT_CLKTCK, HZ},
        {AT_PHDR, e->phdr != 0 ? x->main.base + e->phdr : 0},
        {AT_PHENT, ELF_PHDR_SIZE},
        {AT_PHNUM, e->phnum},
        {AT_BASE, x->interp.base},
        {AT_FLAGS, 0},
        {AT_ENTRY, x->main.base + e->entry},
        {AT_UID, cr->uid},
        {AT_EUID, cr->euid},
        {AT_GID, cr->gid},
        {AT_EGID, cr->egid},
        {AT_SECURE, cr->uid != cr->euid || cr->gid != cr->egid},
        {AT_RANDOM, random},
        {AT_HWCAP2, 0},
        {AT_EXECFN, execfn},
        {AT_PLATFORM, plat},
        {AT_MINSIGSTKSZ, SIGFRAME_MAX},
        {AT_NULL, 0},
    };
    unsigned first = x->vdso == 0;

    memcpy(v, pairs[first], (NAUX - first) * sizeof pairs[0]);
    return v + 2 * (NAUX - first);
}

/* Fill in buf, which will lie at user address `sp`: vec_bytes of pointers, then the strings. */
static void build_stack_image(struct exec *x, uint8_t *buf, uint64_t sp, size_t vec_bytes)
{
    struct exec_args *ea = x->args;
    uint64_t *v = (uint64_t *)buf;
    uint64_t random = sp + vec_bytes, plat = random + 16, ustr = plat + 8, execfn = ustr + ea->len;
    const char *s = ea->strings;
    uint8_t seed[16];

    crng_bytes(seed, sizeof seed);
    *v++ = ea->nargs;
    x->arg_start = ustr;
    v = put_string_pointers(v, &s, ea->strings, ustr, ea->nargs);
    x->arg_end = x->env_start = ustr + (uint64_t)(s - ea->strings);
    v = put_string_pointers(v, &s, ea->strings, ustr, ea->nenvs);
    x->env_end = execfn;
    x->auxv_start = sp + (uint64_t)((uint8_t *)v - buf);
    v = put_auxv(v, x, x->cred != NULL ? x->cred : curcred(), random, plat, execfn);
    x->auxv_end = sp + (uint64_t)((uint8_t *)v - buf);
    memcpy(buf + vec_bytes, seed, sizeof seed);
    memcpy(buf + vec_bytes + 16, platform, sizeof platform);
    memcpy(buf + vec_bytes + 24, ea->strings, ea->len);
    memcpy(buf + vec_bytes + 24 + ea->len, x->path, strlen(x->path) + 1);
}

int exec_stack(struct exec *x)
{
    struct exec_args *ea = x->args;
    size_t vec_bytes = (size_t)(1 + ea->nargs + 1 + ea->nenvs + 1) * 8 + NAUX * 16;
    size_t len = vec_bytes + 24 + ea->len + strlen(x->path) + 1;
    uint64_t limit = curproc()->rlim[RLIMIT_STACK].cur, top, low, sp;
    uint8_t *buf;
    int err;

    if (len > max_of(limit / 4, MIN_ARGS))
        return -E2BIG;
    top = USER_TOP - PAGE_SIZE - crng_below(STACK_PAGES) * PAGE_SIZE;
    sp = (top - crng_below(PAGE_SIZE / 16) * 16 - len) & ~15ul;
    low = round_down(sp, PAGE_SIZE) - min_of(STACK_FIRST, max_of(limit, PAGE_SIZE));
    low = round_down(low, PAGE_SIZE);
    err = as_map(x->as, &low, top - low, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN | MAP_STACK, NULL, 0, NULL,
                 0);
    if (err != 0)
        return err;
    x->vdso = vdso_map(x->as);
    buf = kmem_alloc(len);
    if (buf == NULL)
        return -ENOMEM;
    build_stack_image(x, buf, sp, vec_bytes);
    err = as_access_remote(x->as, sp, buf, len, ACCESS_WRITE) == (long)len ? 0 : -ENOMEM;
    kmem_free(buf);
    x->sp = sp;
    return err;
}
