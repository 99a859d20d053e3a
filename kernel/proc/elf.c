// SPDX-License-Identifier: MIT
/*
 * elf.c - check that a file is a valid program, and find where its segments go.
 *
 * THEORY      An ELF file begins with a header, which names a table of program headers, one for each segment
 *             to load.  The numbers in the file are not trusted.  Each number is checked before it is used in a
 *             sum, so that no sum can overflow.  A file that passes all checks can be mapped without further
 *             checks.
 * INVARIANTS  E1  segments ascend and share no page, lie in low .. high, and high <= top
 *             E2  filesz <= memsz, off + filesz <= size of the file, off and vaddr are equal within a page
 *             E3  the entry lies in an executable segment
 *             E4  no segment is writable and executable
 * SEE ALSO    exec.c, tests/host/test_elf.c (fuzzed)
 */
#include "proc/elf.h"

#include "lib/errno.h"
#include "lib/string.h"

enum {
    PT_LOAD = 1,
    PT_INTERP = 3,
    ET_EXEC = 2,
    ET_DYN = 3,
    EM_X86_64 = 62,
    PF_X = 1,
    PF_W = 2,
    PF_R = 4
};
enum { P_READ = 1, P_WRITE = 2, P_EXEC = 4 }; /* PROT_* */

int elf_header(const void *buf, size_t len, uint64_t size, struct elf_image *img)
{
    static const uint8_t magic[7] = {0x7f, 'E', 'L', 'F', 2 /* 64 bits */, 1 /* little-endian */,
                                     1 /* version */};
    struct elf_ehdr h;

    if (len < sizeof h)
        return -ENOEXEC;
    memcpy(&h, buf, sizeof h);
    if (memcmp(h.ident, magic, sizeof magic) != 0 || h.machine != EM_X86_64)
        return -ENOEXEC;
    if ((h.type != ET_EXEC && h.type != ET_DYN) || h.phentsize != ELF_PHDR_SIZE)
        return -ENOEXEC;
    if (h.phnum == 0 || h.phnum > ELF_PHNUM_MAX)
        return -ENOEXEC;
    if (h.phoff > size || (uint64_t)h.phnum * ELF_PHDR_SIZE > size - h.phoff)
        return -ENOEXEC;
    memset(img, 0, sizeof *img);
    img->dynamic = h.type == ET_DYN;
    img->entry = h.entry;
    img->phoff = h.phoff;
    img->phnum = h.phnum;
    return 0;
}

/* Check one PT_LOAD header and add its segment to *img: E1, E2, E4.  An empty segment is skipped. */
static int add_load_segment(const struct elf_phdr *p, uint64_t size, uint64_t top,
                            struct elf_image *img)
{
    struct elf_segment *s = &img->load[img->nload];
    uint64_t first, end;

    if (p->memsz == 0)
        return 0;
    if (img->nload == ELF_LOAD_MAX || p->filesz > p->memsz)
        return -ENOEXEC;
    if (p->off > size || p->filesz > size - p->off)
        return -ENOEXEC;
    if (p->vaddr >= top || p->memsz > top - p->vaddr || (p->vaddr - p->off) % PAGE_SIZE != 0)
        return -ENOEXEC;
    if ((p->flags & (PF_W | PF_X)) == (PF_W | PF_X))
        return -ENOEXEC;
    first = p->vaddr & PAGE_MASK;
    end = round_up(p->vaddr + p->memsz, PAGE_SIZE);
    if (end > top || (img->nload > 0 && first < img->high))
        return -ENOEXEC;
    if (img->nload == 0)
        img->low = first;
    img->high = end;
    *s = (struct elf_segment){p->vaddr, p->filesz, p->memsz, p->off, 0};
    s->prot = (p->flags & PF_R ? P_READ : 0) | (p->flags & PF_W ? P_WRITE : 0) |
              (p->flags & PF_X ? P_EXEC : 0);
    /* The program headers are in memory if this segment contains their bytes of the file. */
    if (img->phdr == 0 && img->phoff >= p->off &&
        img->phoff - p->off + (uint64_t)img->phnum * ELF_PHDR_SIZE <= p->filesz)
        img->phdr = p->vaddr + (img->phoff - p->off);
    img->nload++;
    return 0;
}

int elf_program_headers(const void *phdrs, uint64_t size, uint64_t top, struct elf_image *img)
{
    struct elf_phdr p;
    int err;

    for (unsigned i = 0; i < img->phnum; i++) {
        memcpy(&p, (const char *)phdrs + i * sizeof p, sizeof p);
        if (p.type == PT_LOAD) {
            err = add_load_segment(&p, size, top, img);
            if (err != 0)
                return err;
        } else if (p.type == PT_INTERP) {
            if (img->interp_len != 0 || p.filesz < 2 || p.filesz > PAGE_SIZE || p.off > size ||
                p.filesz > size - p.off)
                return -ENOEXEC;
            img->interp_off = p.off;
            img->interp_len = p.filesz;
        }
    }
    for (unsigned i = 0; i < img->nload; i++)
        if ((img->load[i].prot & P_EXEC) && img->entry - img->load[i].vaddr < img->load[i].memsz)
            return 0; /* the entry lies in an executable segment (E3) */
    return -ENOEXEC;
}
