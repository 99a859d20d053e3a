// SPDX-License-Identifier: MIT
/* test_elf.c - the checks of ELF files in exec: a good file, each single fault, and random damage. */
#include "lib/errno.h"
#include "lib/types.h"
#include "proc/elf.h"
#include "tests/host/check.h"

#include <string.h>

#define TOP  0x7fffffffe000ull
#define SIZE 0x20000ull /* bytes of the file that the headers describe */

struct ehdr {
    uint8_t ident[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, phoff, shoff;
    uint32_t flags;
    uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

struct phdr {
    uint32_t type, flags;
    uint64_t off, vaddr, paddr, filesz, memsz, align;
};

static struct {
    struct ehdr h;
    struct phdr p[ELF_PHNUM_MAX];
} file;
static struct elf_image img;

static void good(void)
{
    memset(&file, 0, sizeof file);
    memcpy(file.h.ident, "\177ELF\2\1\1", 7);
    file.h.type = 2;
    file.h.machine = 62;
    file.h.entry = 0x401234;
    file.h.phoff = sizeof file.h;
    file.h.phentsize = sizeof file.p[0];
    file.h.phnum = 3;
    file.p[0] = (struct phdr){1, 4, 0, 0x400000, 0, 0x300, 0x300, 4096};
    file.p[1] = (struct phdr){1, 5, 0x1000, 0x401000, 0, 0x8000, 0x8000, 4096};
    file.p[2] = (struct phdr){1, 6, 0x9f00, 0x40af00, 0, 0x500, 0x3000, 4096};
}

static int check(void)
{
    int err = elf_header(&file, sizeof file, SIZE, &img);

    return err != 0 ? err : elf_program_headers(file.p, SIZE, TOP, &img);
}

TEST(good_file)
{
    good();
    CHECK_EQ(check(), 0);
    CHECK_EQ(img.nload, 3);
    CHECK_EQ(img.low, 0x400000);
    CHECK_EQ(img.high, 0x40e000);
    CHECK_EQ(img.phdr, 0x400040);
    CHECK_EQ(img.entry, 0x401234);
    CHECK_EQ(img.interp_len, 0);
    CHECK(!img.dynamic);
    CHECK_EQ(img.load[1].prot, 5);
}

TEST(interpreter)
{
    good();
    file.h.phnum = 4;
    file.p[3] = (struct phdr){3, 4, 0x200, 0x400200, 0, 28, 28, 1};
    CHECK_EQ(check(), 0);
    CHECK_EQ(img.interp_off, 0x200);
    CHECK_EQ(img.interp_len, 28);
    file.p[3].filesz = 1;
    CHECK_EQ(check(), -ENOEXEC);
    file.p[3].filesz = 8192;
    CHECK_EQ(check(), -ENOEXEC);
}

/* Makes one field bad; all else is as in the good file. */
#define BAD(change)                                                                                \
    do {                                                                                           \
        good();                                                                                    \
        change;                                                                                    \
        CHECK_EQ(check(), -ENOEXEC);                                                               \
    } while (0)

TEST(single_faults)
{
    BAD(file.h.ident[0] = 0);
    BAD(file.h.ident[4] = 1);
    BAD(file.h.ident[5] = 2);
    BAD(file.h.machine = 3);
    BAD(file.h.type = 1);
    BAD(file.h.phentsize = 32);
    BAD(file.h.phnum = 0);
    BAD(file.h.phnum = 65);
    BAD(file.h.phoff = SIZE - 10);
    BAD(file.h.phoff = UINT64_MAX - 8);
    BAD(file.h.entry = 0x400010);   /* not executable */
    BAD(file.h.entry = 0x1234);     /* outside of all segments */
    BAD(file.p[1].flags = 7);       /* writable and executable */
    BAD(file.p[1].filesz = 0x9000); /* more than memsz */
    BAD(file.p[1].off = 0x1001);    /* not congruent */
    BAD(file.p[2].off = SIZE + 0xf00);
    BAD(file.p[2].off = UINT64_MAX - 0xff);
    BAD(file.p[2].memsz = UINT64_MAX);
    BAD(file.p[2].vaddr = TOP);
    BAD(file.p[2].vaddr = TOP - 0x100);
    BAD(file.p[2].vaddr = 0x400f00); /* below the segment before */
    BAD(file.p[2].vaddr = 0x408f00); /* shares a page with the segment before */
    BAD(file.p[1].memsz = file.p[1].filesz = 0);
}

TEST(short_file)
{
    good();
    CHECK_EQ(elf_header(&file, 63, SIZE, &img), -ENOEXEC);
    CHECK_EQ(elf_header(&file, 64, 100, &img), -ENOEXEC);
}

/* What holds for every accepted image (elf.c, E1 to E4). */
static void check_promises(void)
{
    uint64_t end = 0, found = 0;

    CHECK(img.nload >= 1 && img.nload <= ELF_LOAD_MAX);
    for (unsigned i = 0; i < img.nload; i++) {
        const struct elf_segment *s = &img.load[i];

        CHECK(s->memsz > 0 && s->filesz <= s->memsz);
        CHECK(s->filesz <= SIZE && s->off <= SIZE - s->filesz);
        CHECK((s->vaddr & 4095) == (s->off & 4095));
        CHECK((s->vaddr & ~4095ull) >= end);
        end = (s->vaddr + s->memsz + 4095) & ~4095ull;
        CHECK(end > s->vaddr && end <= TOP);
        CHECK((s->prot & 6) != 6);
        found |= (s->prot & 4) && img.entry >= s->vaddr && img.entry < s->vaddr + s->memsz;
    }
    CHECK(found);
    CHECK_EQ(img.high, end);
    CHECK(img.phdr == 0 || (img.phdr >= img.low && img.phdr < img.high));
}

TEST(random_damage)
{
    static const uint64_t odd[] = {
        0, 1, 4095, 4096, SIZE, TOP, UINT64_MAX, UINT64_MAX - 4095, 1ull << 63};
    unsigned accepted = 0;

    for (unsigned n = 0; n < 200000; n++) {
        good();
        file.h.phnum = (uint16_t)(3 + check_below(2));
        if (file.h.phnum == 4)
            file.p[3] = (struct phdr){(uint32_t)check_below(8),
                                      (uint32_t)check_below(8),
                                      check_random() % SIZE,
                                      0x410000 + check_below(0x10000),
                                      0,
                                      check_below(0x8000),
                                      check_below(0x10000),
                                      1};
        for (uint64_t k = check_below(3); k-- > 0;) {
            uint8_t *at =
                (uint8_t *)&file + check_below((sizeof file.h + 4 * sizeof file.p[0]) / 8) * 8;
            uint64_t v = check_below(2) ? check_random() >> check_below(64)
                                        : odd[check_below(sizeof odd / 8)];

            memcpy(at, &v, sizeof v);
        }
        if (check() == 0) {
            accepted++;
            check_promises();
        }
    }
    CHECK(accepted > 1000);
}
