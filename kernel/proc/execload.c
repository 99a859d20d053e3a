// SPDX-License-Identifier: MIT
/*
 * execload.c - the memory of a new program: its segments, the start of its heap, its interpreter.
 *
 * THEORY      The new address space is built while the old one still exists.  Segments are only mapped: the
 *             kernel reads only the headers, and page faults read the pages later.  This code writes only the
 *             end of a segment's last file page, because the program expects zeros there.
 *             A position-independent program and the break are placed at random addresses.
 * SEE ALSO    elf.c (the checks of a valid program)
 */
#include "proc/exec.h"

#include "lib/errno.h"
#include "lib/crng.h"
#include "lib/string.h"

#define PIE_BASE  0x555555554000ul
#define PIE_PAGES (1ul << 24) /* the load address varies over this many pages: 64 GiB */
#define BRK_PAGES (1ul << 13) /* the break varies over this many pages: 32 MiB */

static const uint8_t zeros[PAGE_SIZE];

/*
 * Check the ELF header and the program headers; read the latter if they are not in
 * pr->head.  -ENOEXEC -ENOMEM.
 */
static int read_program_headers(struct program *pr)
{
    struct elf_image *e = &pr->elf;
    uint64_t size = pr->vn->size;
    int err = elf_header(pr->head, (size_t)pr->nhead, size, e);
    size_t n = (size_t)e->phnum * ELF_PHDR_SIZE;
    void *big;

    if (err != 0)
        return err;
    if (e->phoff <= (size_t)pr->nhead && n <= (size_t)pr->nhead - e->phoff)
        return elf_program_headers(pr->head + e->phoff, size, USER_TOP - PAGE_SIZE, e);
    big = kmem_alloc(n);
    if (big == NULL)
        return -ENOMEM;
    err = vn_read_kernel(pr->vn, big, n, (loff_t)e->phoff) == (long)n
              ? elf_program_headers(big, size, USER_TOP - PAGE_SIZE, e)
              : -ENOEXEC;
    kmem_free(big);
    return err;
}

/* Map one segment: pages of the file, zeros up to the end of its last file page, then anonymous memory. */
static int map_segment(struct as *as, struct program *pr, const struct elf_segment *s)
{
    uint64_t start = pr->base + (s->vaddr & PAGE_MASK);
    uint64_t file_end = pr->base + s->vaddr + s->filesz;
    uint64_t end = round_up(pr->base + s->vaddr + s->memsz, PAGE_SIZE);
    uint64_t mapped = start, tail;
    int err;

    if (s->filesz > 0) {
        mapped = round_up(file_end, PAGE_SIZE);
        err = as_map(as, &start, mapped - start, s->prot, MAP_PRIVATE | MAP_FIXED, &pr->vn->obj,
                     s->off & PAGE_MASK, pr->vn, 0);
        if (err != 0)
            return err;
        tail = mapped - file_end;
        if (tail > 0 && s->memsz > s->filesz && (s->prot & PROT_WRITE) &&
            as_access_remote(as, file_end, (void *)(uintptr_t)zeros, tail, ACCESS_WRITE) !=
                (long)tail)
            return -ENOMEM;
    }
    if (end <= mapped)
        return 0;
    return as_map(as, &mapped, end - mapped, s->prot, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, NULL,
                  0, NULL, 0);
}

static int map_program(struct as *as, struct program *pr)
{
    int err = 0;

    pr->vn->text = true;
    for (unsigned i = 0; i < pr->elf.nload && err == 0; i++)
        err = map_segment(as, pr, &pr->elf.load[i]);
    return err;
}

/*
 * Map the dynamic loader that PT_INTERP names, at any free address.  -ELIBBAD: that file is no valid loader.
 * -ENOEXEC would be wrong, because a shell would then treat the program, which is valid, as a script.
 */
static int load_interpreter(struct exec *x)
{
    struct elf_image *e = &x->interp.elf;
    uint64_t n = x->main.elf.interp_len, place = 0;
    char *path = kmem_alloc(n);
    bool named;
    int err;

    if (path == NULL)
        return -ENOMEM;
    named = vn_read_kernel(x->main.vn, path, n, (loff_t)x->main.elf.interp_off) == (long)n &&
            path[n - 1] == '\0';
    err = named ? exec_program_open(&x->interp, NULL, path) : -ENOEXEC;
    kmem_free(path);
    if (err == 0)
        err = read_program_headers(&x->interp);
    if (named && (err == -ENOEXEC || (err == 0 && (!e->dynamic || e->interp_len != 0))))
        return -ELIBBAD;
    if (err != 0)
        return err;
    err = as_map(x->as, &place, e->high - e->low, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, NULL, 0,
                 NULL, 0);
    if (err == 0)
        err = as_unmap(x->as, place, e->high - e->low);
    if (err != 0)
        return err;
    x->interp.base = place - e->low;
    x->entry = x->interp.base + e->entry;
    return map_program(x->as, &x->interp);
}

int exec_load(struct exec *x)
{
    struct elf_image *e = &x->main.elf;
    struct as_limits lim;
    struct rlimit *rlim = curproc()->rlim;
    int err = read_program_headers(&x->main);

    if (err != 0)
        return err;
    x->as = as_create();
    if (x->as == NULL)
        return -ENOMEM;
    lim = (struct as_limits){rlim[RLIMIT_AS].cur, rlim[RLIMIT_DATA].cur, rlim[RLIMIT_STACK].cur};
    as_set_limits(x->as, &lim);
    if (e->dynamic) {
        x->main.base = PIE_BASE + crng_below(PIE_PAGES) * PAGE_SIZE - e->low;
        if (e->high - e->low > (1ul << 40))
            return -ENOEXEC;
    }
    err = map_program(x->as, &x->main);
    if (err != 0)
        return err;
    x->entry = x->main.base + e->entry;
    as_brk_init(x->as, x->main.base + e->high + crng_below(BRK_PAGES) * PAGE_SIZE);
    return e->interp_len != 0 ? load_interpreter(x) : 0;
}
