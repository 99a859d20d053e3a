// SPDX-License-Identifier: MIT
/*
 * ext_init.h - the public interface of the ext file system.
 */
#ifndef FS_EXT_EXT_INIT_H
#define FS_EXT_EXT_INIT_H

/* ext_init - register the file system types ext3 and ext2. */
void ext_init(void);

#endif
