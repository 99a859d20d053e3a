// SPDX-License-Identifier: MIT
/*
 * mb2.c - reads the boot loader's information: multiboot2 from GRUB, or hvm_start_info from QEMU's -kernel.
 *
 * SEE ALSO    Multiboot2 specification 3.6 (a list of tags, each 8-byte aligned); Xen's
 *             include/public/arch-x86/hvm/start_info.h
 */
#include "x86/mb2.h"

#include "lib/errno.h"
#include "x86/layout.h"

enum { MB2_LOADED = 0x36d76289, PVH_LOADED = 0x336ec578 };
enum { TAG_END = 0, TAG_MODULE = 3, TAG_MMAP = 6, TAG_RSDP_OLD = 14, TAG_RSDP_NEW = 15 };
enum { USABLE = 1 };           /* the type of RAM in both memory maps */
#define LOW_BYTES (4ull << 30) /* boot.S has mapped this many bytes */

struct tag {
    uint32_t type, size;
};

struct tag_module {
    uint32_t type, size, start, end;
};

struct tag_mmap {
    uint32_t type, size, entry_size, version;
    struct {
        uint64_t base, len;
        uint32_t type, zero;
    } entry[];
};

/* Adds the whole pages of a range of RAM.  Ranges beyond MB2_RAM_MAX are dropped. */
static void add_ram(struct boot_info *out, uint64_t base, uint64_t len)
{
    uint64_t from = round_up(base, PAGE_SIZE), to = round_down(base + len, PAGE_SIZE);

    if (out->nram < MB2_RAM_MAX && to > from) {
        out->ram[out->nram].base = from;
        out->ram[out->nram++].len = to - from;
    }
}

/*
 * hvm_start_info and its memory map.  The module in hvm_start_info (-initrd) is ignored: QEMU loads
 * it to the end of memory, where SeaBIOS may have put tables.
 */
struct pvh_info {
    uint32_t magic, version, flags, nmodules;
    uint64_t modules, cmdline, rsdp, map;
    uint32_t nmap, zero;
};

struct pvh_range {
    uint64_t base, len;
    uint32_t type, zero;
};

static int parse_pvh(uint64_t info, struct boot_info *out)
{
    const struct pvh_info *p = phys_to_virt(info);
    const struct pvh_range *range = phys_to_virt(p->map);

    if (p->magic != PVH_LOADED || p->map >= LOW_BYTES || p->rsdp >= LOW_BYTES)
        return -EINVAL;
    out->info = info;
    out->info_len = sizeof *p;
    for (uint32_t i = 0; p->version >= 1 && i < p->nmap; i++)
        if (range[i].type == USABLE)
            add_ram(out, range[i].base, range[i].len);
    if (p->rsdp != 0) {
        out->rsdp = phys_to_virt(p->rsdp);
        out->rsdp_len = ((const uint8_t *)out->rsdp)[15] >= 2 ? 36 : 20;
    }
    return out->nram > 0 ? 0 : -EINVAL;
}

int mb2_parse(uint32_t magic, uint64_t info, struct boot_info *out)
{
    const char *p = phys_to_virt(info), *end;

    *out = (struct boot_info){0};
    if (magic == PVH_LOADED)
        return parse_pvh(info, out);
    if (magic != MB2_LOADED)
        return -EINVAL;
    out->info = info;
    out->info_len = *(const uint32_t *)p;
    end = p + out->info_len;
    for (p += 8; p + sizeof(struct tag) <= end;) {
        const struct tag *t = (const struct tag *)p;

        if (t->type == TAG_END || t->size < sizeof *t)
            break;
        if (t->type == TAG_MODULE && out->initrd == 0) {
            const struct tag_module *m = (const struct tag_module *)p;

            out->initrd = m->start;
            out->initrd_len = m->end - m->start;
        } else if (t->type == TAG_MMAP) {
            const struct tag_mmap *m = (const struct tag_mmap *)p;

            for (const char *e = (const char *)m->entry; e + m->entry_size <= p + t->size;
                 e += m->entry_size) {
                const uint64_t *v = (const uint64_t *)e;

                if ((uint32_t)v[2] == USABLE)
                    add_ram(out, v[0], v[1]);
            }
        } else if (t->type == TAG_RSDP_NEW || (t->type == TAG_RSDP_OLD && out->rsdp == NULL)) {
            out->rsdp = p + sizeof *t;
            out->rsdp_len = t->size - sizeof *t;
        }
        p += round_up(t->size, 8u);
    }
    return out->nram > 0 ? 0 : -EINVAL;
}
