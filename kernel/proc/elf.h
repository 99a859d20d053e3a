// SPDX-License-Identifier: MIT
/*
 * elf.h - the facts about an ELF file that exec needs, computed from its headers.  elf.c uses only
 * kernel/lib, so it is also tested on the host.
 */
#ifndef PROC_ELF_H
#define PROC_ELF_H

#include "lib/types.h"

enum { ELF_LOAD_MAX = 12, ELF_PHDR_SIZE = 56, ELF_PHNUM_MAX = 64 };

/* The headers of an ELF file, as in the System V ABI. */
struct elf_ehdr {
    uint8_t ident[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, phoff, shoff;
    uint32_t flags;
    uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

struct elf_phdr {
    uint32_t type, flags;
    uint64_t off, vaddr, paddr, filesz, memsz, align;
};

_Static_assert(sizeof(struct elf_ehdr) == 64 && sizeof(struct elf_phdr) == ELF_PHDR_SIZE, "ELF64");

struct elf_segment {
    uint64_t vaddr, filesz, memsz, off;
    int prot; /* PROT_* */
};

struct elf_image {
    bool dynamic; /* ET_DYN: can be loaded anywhere */
    uint64_t entry;
    uint64_t low, high; /* first address and end of all segments, whole pages */
    uint64_t phdr;      /* address of the program headers in memory; 0: not loaded */
    uint64_t phoff;     /* offset of the program headers in the file, bytes */
    unsigned phnum;
    uint64_t interp_off, interp_len; /* PT_INTERP in the file; len 0: none */
    unsigned nload;
    struct elf_segment load[ELF_LOAD_MAX];
};

/*
 * elf_header - check the ELF header in the first `len` bytes of a file of `size` bytes; fills in phoff,
 * phnum, entry, dynamic.
 * elf_program_headers - check `phdrs` (img->phnum of them) and fill in the other fields.  `top`: lowest address that
 * a program must not use.
 * Both return 0 or -ENOEXEC.  After an error the contents of *img are undefined.
 */
int elf_header(const void *buf, size_t len, uint64_t size, struct elf_image *img);
int elf_program_headers(const void *phdrs, uint64_t size, uint64_t top, struct elf_image *img);

#endif
