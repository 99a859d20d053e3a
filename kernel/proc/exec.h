// SPDX-License-Identifier: MIT
/*
 * exec.h - the state of one exec, shared by exec.c (which program), execload.c (its memory) and
 * execstack.c (its stack).
 */
#ifndef PROC_EXEC_H
#define PROC_EXEC_H

#include "proc/elf.h"
#include "proc/proc_impl.h"

enum { EXEC_HEAD = 1024 }; /* bytes read first: the ELF header and, normally, the program headers */

struct program { /* an open executable file: has a reference to the vnode, which denies writing */
    struct vnode *vn;
    long nhead;
    uint8_t head[EXEC_HEAD];
    struct elf_image elf;
    uint64_t base; /* added to the addresses in the file; 0 for ET_EXEC */
};

struct exec {
    const char *path; /* as given to execve */
    struct exec_args *args;
    struct program main, interp;
    struct as *as;         /* new memory */
    struct cred *cred;     /* new credentials (set-id); NULL: unchanged */
    struct sighand *sig;   /* unshared handlers; NULL: unchanged */
    struct fdtable *files; /* unshared descriptors; NULL: unchanged */
    struct fsinfo *fs;     /* unshared directories and umask; NULL: unchanged */
    uint64_t entry, sp;
    uint64_t vdso;
    uint64_t arg_start, arg_end, env_start, env_end, auxv_start, auxv_end;
    bool readable; /* the caller may read the program's file, so others may see its memory */
};

/*
 * exec_load - map the program (and its interpreter) into a new space x->as; sets x->entry.  0; -ENOEXEC
 * -ENOMEM -EIO; -ELIBBAD: bad interpreter; errors of exec_program_open() for the interpreter.
 */
int exec_load(struct exec *x);
/*
 * exec_stack - give x->as its stack with arguments, environment and auxiliary vector; sets
 * x->sp.  0, -E2BIG, -ENOMEM.
 */
int exec_stack(struct exec *x);
/*
 * exec_program_open - open the file vn, or the file at `path` if vn is NULL, as a program, and read its
 * head.  0; errors of name_lookup and of reading; -EACCES -ETXTBSY -ENOEXEC.  The caller must call
 * exec_program_close(), also after an error.
 */
int exec_program_open(struct program *pr, struct vnode *vn, const char *path);
void exec_program_close(struct program *pr);

#endif
