// SPDX-License-Identifier: MIT
/*
 * exec.h - a program on its way to being run: shared by exec.c (which program), execload.c (its memory), execstack.c.
 */
#ifndef PROC_EXEC_H
#define PROC_EXEC_H

#include "proc/elf.h"
#include "proc/proc_impl.h"

enum { EXEC_HEAD = 1024 }; /* bytes read first: the ELF header and, normally, all program headers */

struct program { /* an executable file, open: held, and closed to writers */
    struct vnode *vn;
    long nhead;
    uint8_t head[EXEC_HEAD];
    struct elf_image elf;
    uint64_t base; /* added to its addresses; 0 for ET_EXEC */
};

struct exec {
    const char *path; /* as given to execve */
    struct exec_args *args;
    struct program main, interp;
    struct as *as;         /* new memory */
    struct cred *cred;     /* new credentials (set-id), or NULL: they stay */
    struct sighand *sig;   /* unshared handlers, or NULL: they stay */
    struct fdtable *files; /* unshared descriptors, or NULL: they stay */
    struct fsinfo *fs;     /* unshared directories and umask, or NULL: they stay */
    uint64_t entry, sp;
    uint64_t vdso;
    uint64_t arg_start, arg_end, env_start, env_end;
};

/* exec_load - map the program (and its interpreter) into a new space x->as.  -ENOEXEC -ENOMEM -EIO. */
int exec_load(struct exec *x);
/* exec_stack - give x->as its stack with arguments, environment and auxiliary vector; sets x->sp.  -E2BIG -ENOMEM. */
int exec_stack(struct exec *x);
/* exec_program_open - of the file vn, or (NULL) by path.  Errors of name_lookup, -EACCES -ETXTBSY -ENOEXEC. */
int exec_program_open(struct program *pr, struct vnode *vn, const char *path);
void exec_program_close(struct program *pr);

#endif
