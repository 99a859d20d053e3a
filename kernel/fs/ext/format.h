// SPDX-License-Identifier: MIT
/*
 * format.h - the on-disk format of the ext2 file system and of the JBD2 journal.
 *
 * The numbers of the file system are little-endian, like those of this machine.  The numbers of the journal
 * are big-endian.
 * Sources: the documentation of the second extended file system in Debian's e2fsprogs (libext2fs.info).  The names
 * are like those in the headers of e2fsprogs, so that names that debugfs prints can be found here.
 */
#ifndef FS_EXT_FORMAT_H
#define FS_EXT_FORMAT_H

#include "lib/types.h"

#define EXT_MAGIC         0xef53
#define EXT_SUPER_OFFSET  1024 /* bytes from the start of the disk */
#define EXT_ROOT_INO      2
#define EXT_RESIZE_INO    7
#define EXT_FIRST_INO_OLD 11
#define EXT_NDIR          12
#define EXT_NAME_LEN      255
#define EXT_LINK_MAX      32000

enum { EXT_STATE_VALID = 1, EXT_STATE_ERROR = 2, EXT_STATE_ORPHANS = 4 };
enum { EXT_ERRORS_CONTINUE = 1, EXT_ERRORS_RO = 2, EXT_ERRORS_PANIC = 3 };
enum {
    COMPAT_HAS_JOURNAL = 4,
    COMPAT_EXT_ATTR = 8,
    COMPAT_RESIZE_INODE = 0x10,
    COMPAT_DIR_INDEX = 0x20,
    INCOMPAT_FILETYPE = 2,
    INCOMPAT_RECOVER = 4,
    RO_SPARSE_SUPER = 1,
    RO_LARGE_FILE = 2,
    RO_EXTRA_ISIZE = 0x40,
};
enum { SB_SIGNED_HASH = 1, SB_UNSIGNED_HASH = 2 };

struct ext_super {
    uint32_t inodes_count, blocks_count, r_blocks_count, free_blocks, free_inodes, first_data_block;
    uint32_t log_block_size, log_frag_size, blocks_per_group, frags_per_group, inodes_per_group;
    uint32_t mtime, wtime;
    uint16_t mnt_count, max_mnt_count, magic, state, errors, minor_rev;
    uint32_t lastcheck, checkinterval, creator_os, rev_level;
    uint16_t def_resuid, def_resgid;
    uint32_t first_ino;
    uint16_t inode_size, block_group_nr;
    uint32_t compat, incompat, ro_compat;
    uint8_t uuid[16];
    char volume_name[16], last_mounted[64];
    uint32_t algorithm_bitmap;
    uint8_t prealloc_blocks, prealloc_dir_blocks;
    uint16_t reserved_gdt_blocks;
    uint8_t journal_uuid[16];
    uint32_t journal_ino, journal_dev, last_orphan, hash_seed[4];
    uint8_t def_hash_version, jnl_backup_type;
    uint16_t desc_size;
    uint32_t default_mount_opts, first_meta_bg, mkfs_time, jnl_blocks[17];
    uint32_t blocks_count_hi, r_blocks_count_hi, free_blocks_hi;
    uint16_t min_extra_isize, want_extra_isize;
    uint32_t flags; /* SB_*_HASH */
    uint32_t reserved[12];
    uint32_t error_count, first_error_time;
    uint32_t rest[153];
};
_Static_assert(sizeof(struct ext_super) == 1024 && offsetof(struct ext_super, flags) == 0x160 &&
                   offsetof(struct ext_super, error_count) == 0x194,
               "superblock");

struct ext_gdesc {
    uint32_t block_bitmap, inode_bitmap, inode_table;
    uint16_t free_blocks, free_inodes, used_dirs, flags;
    uint32_t reserved[3];
};
_Static_assert(sizeof(struct ext_gdesc) == 32, "group descriptor");

enum {
    EXT_FL_IMMUTABLE = 0x10,
    EXT_FL_APPEND = 0x20,
    EXT_FL_INDEX = 0x1000,
    EXT_FL_UNKNOWN = 0x10080000
};
enum {
    IFMT_FIFO = 0x1000,
    IFMT_CHR = 0x2000,
    IFMT_DIR = 0x4000,
    IFMT_BLK = 0x6000,
    IFMT_REG = 0x8000,
    IFMT_LNK = 0xa000,
    IFMT_SOCK = 0xc000
};

struct ext_dinode {
    uint16_t mode, uid;
    uint32_t size, atime, ctime, mtime, dtime;
    uint16_t gid, links;
    uint32_t blocks, flags, version;
    uint32_t block[15];
    uint32_t generation, file_acl, size_high, faddr;
    uint16_t blocks_high, acl_high, uid_high, gid_high, checksum_lo, reserved;
    /* the following fields exist only in inodes larger than 128 bytes */
    uint16_t extra_isize, checksum_hi;
    uint32_t ctime_extra, mtime_extra, atime_extra, crtime, crtime_extra;
};
_Static_assert(offsetof(struct ext_dinode, extra_isize) == 128 && sizeof(struct ext_dinode) == 152,
               "inode");

/* A directory entry; rec_len is a multiple of 4. */
struct ext_dirent {
    uint32_t ino; /* 0: unused */
    uint16_t rec_len;
    uint8_t name_len, type;
    char name[];
};
#define DIRENT_SIZE(len) (((unsigned)(len) + 8 + 3) & ~3u)

/*
 * Hashed directories.  Block 0 is the root of the index.  Code that does not know the index sees in block 0 only
 * the entry "." and an entry ".." that fills the rest of the block.
 */
enum { HASH_LEGACY = 0, HASH_HALF_MD4 = 1, HASH_TEA = 2, HASH_UNSIGNED = 3 };
struct dx_entry {
    uint32_t hash; /* in the first entry of the array: uint16 limit and uint16 count */
    uint32_t block;
};
struct dx_info {
    uint32_t zero;
    uint8_t hash_version, info_length, levels, flags;
};
#define DX_ROOT_OFFSET 24 /* byte offset of struct dx_info, after "." and ".." */
#define DX_NODE_OFFSET 8  /* byte offset of the entries, after an empty directory entry */

#define ATTR_MAGIC 0xea020000u /* marks extended attributes, in a block or in the inode */

/* ---- the journal ---- */
#define JBD_MAGIC 0xc03b3998u
enum { JBD_DESCRIPTOR = 1, JBD_COMMIT, JBD_SUPER_V1, JBD_SUPER_V2, JBD_REVOKE };
enum { JBD_TAG_ESCAPE = 1, JBD_TAG_SAME_UUID = 2, JBD_TAG_DELETED = 4, JBD_TAG_LAST = 8 };
enum { JBD_INCOMPAT_REVOKE = 1 };

struct jbd_header {
    uint32_t magic, type, sequence;
};
struct jbd_super {
    struct jbd_header h;
    /* maxlen includes the superblock; `first`: first block of the log */
    uint32_t blocksize, maxlen, first;
    /* number and block of the oldest transaction that is needed; start 0: none is needed */
    uint32_t sequence, start;
    int32_t err;
    uint32_t compat, incompat, ro_compat;
    uint8_t uuid[16];
    uint32_t nr_users, dynsuper, max_transaction, max_trans_data;
    uint32_t padding[44];
    uint8_t users[16 * 48];
};
_Static_assert(sizeof(struct jbd_super) == 1024, "journal superblock");
struct jbd_tag {
    uint32_t block;
    uint16_t checksum, flags;
};
struct jbd_revoke {
    struct jbd_header h;
    uint32_t count; /* bytes in use, including this header */
};
struct jbd_commit {
    struct jbd_header h;
    uint8_t chksum_type, chksum_size, padding[2];
    uint32_t chksum[8];
    uint64_t sec;
    uint32_t nsec;
} __attribute__((packed));

#define be32(x) __builtin_bswap32(x)
#define be16(x) __builtin_bswap16(x)
#define be64(x) __builtin_bswap64(x)

#endif
