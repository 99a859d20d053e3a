// SPDX-License-Identifier: MIT
/*
 * ext_init.h - what the rest of the room knows of this file system.
 */
#ifndef FS_EXT_EXT_INIT_H
#define FS_EXT_EXT_INIT_H

/* ext_init - registers the types ext3 and ext2. */
void ext_init(void);

#endif
