// SPDX-License-Identifier: MIT
/*
 * sys_shm.c - System V shared memory: shmget, shmat, shmdt, shmctl.
 *
 * THEORY      System V shared memory lets processes that are not related share memory: a segment has a
 *             number, and each process that knows the number can attach (map) the segment.  A segment is a
 *             shared anonymous memory object.  The object has one reference from the table and one from each
 *             mapping.  So the number of attachments follows from the reference count; fork, exec and exit
 *             need no code for this.  (If mprotect() splits a mapping into two, it counts twice, as on Linux.)
 *             IPC_RMID removes a segment from the table immediately; the last unmapping frees the memory.
 * LOCKING     shm_lock guards the table.  Order: shm_lock -> address space, object
 * SEE ALSO    sysv.h, pages/object.h, user/preload/madv.c; semantics: Linux's manual pages shmget(2), shmat(2),
 *             shmctl(2)
 */
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "proc/proc.h"
#include "procfs/procfs.h"
#include "sys/sys.h"
#include "sys/sysv.h"
#include "pages/object.h"
#include "x86/uaccess.h"

enum { SHM_HUGETLB = 04000 }; /* flag of shmget */
enum {
    SHM_RDONLY = 010000,
    SHM_RND = 020000,
    SHM_REMAP = 040000,
    SHM_EXEC = 0100000
}; /* flags of shmat */
enum { SHM_LOCKED = 02000 }; /* bit of shmid_ds.mode */
enum {
    SHM_LOCK = 11,
    SHM_UNLOCK = 12,
    SHM_STAT = 13,
    SHM_INFO = 14,
    SHM_STAT_ANY = 15
}; /* commands of shmctl, as IPC_* */
/* Linux's default for the limit of all segments together, in pages: there is none. */
#define SHM_ALL (UINT64_MAX - (1ul << 24))

/* Linux's struct shmid_ds on x86-64. */
struct shmid_ds {
    struct sysv_perm perm;
    uint64_t segsz;
    int64_t atime, dtime, ctime;
    int32_t cpid, lpid;
    uint64_t nattch, unused2[2];
};
_Static_assert(sizeof(struct shmid_ds) == 112, "struct shmid_ds");

/* Linux's struct shminfo and struct shm_info. */
struct shm_limits {
    uint64_t max, min, mni, seg, all, unused[4];
};
struct shm_usage {
    int32_t used, pad;
    uint64_t total, resident, swapped, attempts, successes; /* pages; the last two are always 0 */
};

struct shm {
    struct shmid_ds ds;    /* under shm_lock; nattch is not used; begins with the perm */
    struct vm_object *obj; /* [c] with one reference */
    bool huge;             /* [c] the segment is made of huge pages */
    /* under shm_lock: id of the user that locked the segment; 0: not locked by an ordinary user */
    uint32_t locker;
};

static struct sysv_table shm_table;
static struct mutex shm_lock;

void shm_init(void)
{
    mutex_init(&shm_lock, SLEEP_SHM);
}

/* The segment that begins with p; NULL: p is NULL. */
static struct shm *shm_of_perm(struct sysv_perm *p)
{
    return p != NULL ? container_of(p, struct shm, ds.perm) : NULL;
}

/* The segment with this number, or NULL.  The table is locked. */
static struct shm *find_shm_segment(int id)
{
    return shm_of_perm(sysv_find(&shm_table, id));
}

/*
 * Creates a segment of `size` bytes.  Returns its number; -ENOSPC: the table is full; -ENOMEM;
 * -EINVAL: bad size.
 */
static int create_shm_segment(int key, uint64_t size, int flags)
{
    bool huge = (flags & SHM_HUGETLB) != 0;
    uint64_t bytes = round_up(size, huge ? HUGE_SIZE : PAGE_SIZE);
    struct shm *s;
    int id;

    if (size == 0 || size > USER_TOP)
        return -EINVAL;
    s = kmem_zalloc(sizeof *s);
    if (s == NULL)
        return -ENOMEM;
    s->obj = object_create_sysv(bytes >> PAGE_SHIFT, huge);
    if (s->obj == NULL) {
        kmem_free(s);
        return -ENOMEM;
    }
    s->huge = huge;
    s->ds.segsz = size;
    s->ds.ctime = sysv_now();
    s->ds.cpid = curproc()->pid;
    id = sysv_add(&shm_table, &s->ds.perm, key, flags);
    if (id < 0) {
        object_release(s->obj);
        kmem_free(s);
    }
    return id;
}

/* shmget(key, size, flags) */
long sys_shmget(struct regs *r)
{
    int key = (int)r->arg[0], flags = (int)r->arg[2], id = 0, err;
    uint64_t size = r->arg[1];
    struct sysv_perm *p;

    mutex_enter(&shm_lock);
    err = sysv_lookup(&shm_table, key, flags, &p, &id);
    if (err == 0 && p == NULL)
        id = create_shm_segment(key, size, flags);
    else if (err == 0)
        err = size > shm_of_perm(p)->ds.segsz ? -EINVAL : sysv_check(p, sysv_wanted(flags));
    mutex_exit(&shm_lock);
    return err != 0 ? err : id;
}

/* Maps the segment at *addr (0: any address) and stores the address there.  The table is locked. */
static int attach_shm_segment(struct shm *s, uint64_t *addr, int flags)
{
    int prot =
        PROT_READ | (flags & SHM_RDONLY ? 0 : PROT_WRITE) | (flags & SHM_EXEC ? PROT_EXEC : 0);
    int map = MAP_SHARED | MAP_ANONYMOUS | (s->huge ? MAP_HUGETLB : 0);
    int err = sysv_check(&s->ds.perm, SYSV_READ | (flags & SHM_RDONLY ? 0 : SYSV_WRITE));

    if (err != 0)
        return err;
    if (*addr != 0)
        map |= flags & SHM_REMAP ? MAP_FIXED : MAP_FIXED_NOREPLACE;
    err = as_map(curproc()->as, addr, s->ds.segsz, prot, map, s->obj, 0, NULL,
                 flags & SHM_RDONLY ? PROT_WRITE : 0);
    if (err != 0)
        return err == -EEXIST ? -EINVAL : err;
    s->ds.atime = sysv_now();
    s->ds.lpid = curproc()->pid;
    return 0;
}

/* shmat(id, addr, flags) */
long sys_shmat(struct regs *r)
{
    int flags = (int)r->arg[2], err = -EINVAL;
    uint64_t addr = r->arg[1];
    struct shm *s;

    if (flags & SHM_RND)
        addr &= PAGE_MASK;
    if ((addr & ~PAGE_MASK) != 0 || (addr == 0 && (flags & SHM_REMAP)))
        return -EINVAL;
    mutex_enter(&shm_lock);
    s = find_shm_segment((int)r->arg[0]);
    if (s != NULL)
        err = attach_shm_segment(s, &addr, flags);
    mutex_exit(&shm_lock);
    return err != 0 ? err : (long)addr;
}

/* shmdt(addr) */
long sys_shmdt(struct regs *r)
{
    struct vm_object *obj;
    int err = as_detach(curproc()->as, r->arg[0], &obj);

    if (err != 0)
        return err;
    mutex_enter(&shm_lock);
    for (int i = 0, id; i < SYSV_PLACES; i++) {
        struct shm *s = shm_of_perm(sysv_at(&shm_table, i, &id));

        if (s != NULL && s->obj == obj) {
            s->ds.dtime = sysv_now();
            s->ds.lpid = curproc()->pid;
        }
    }
    mutex_exit(&shm_lock);
    return 0;
}

/* IPC_SET: sets owner and mode from the user's shmid_ds.  IPC_RMID: removes s.  The table is locked. */
static int set_or_remove_shm(struct shm *s, int id, int cmd, uint64_t udata)
{
    struct shmid_ds ds;
    int err = sysv_check_owner(&s->ds.perm);

    if (err != 0)
        return err;
    if (cmd == IPC_RMID) {
        sysv_remove(&shm_table, id);
        if (s->locker != 0)
            /*
             * the user's lock count no longer includes the segment, so its pages must not stay
             * locked
             */
            s->obj->locked = false;
        object_release(s->obj);
        kmem_free(s);
        return 0;
    }
    err = copy_in(&ds, udata, sizeof ds);
    if (err != 0)
        return err;
    sysv_set(&s->ds.perm, &ds.perm);
    s->ds.ctime = sysv_now();
    return 0;
}

/*
 * Locks the segment's pages in memory, or unlocks them.  All segments that a user has locked can together
 * have at most RLIMIT_MEMLOCK bytes.  0, -EPERM, -ENOMEM.  The caller has locked the table.
 */
static int lock_shm_segment(struct shm *s, bool on)
{
    const struct cred *cr = curcred();
    uint64_t bytes = on ? s->ds.segsz : 0;

    if (sysv_check_owner(&s->ds.perm) != 0)
        return -EPERM;
    if (on && !cred_superuser(cr)) {
        if (limit(RLIMIT_MEMLOCK) == 0)
            return -EPERM;
        for (int i = 0, id; i < SYSV_PLACES; i++) {
            struct shm *o = shm_of_perm(sysv_at(&shm_table, i, &id));

            if (o != NULL && o != s && o->obj->locked && o->locker == cr->euid)
                bytes += o->ds.segsz;
        }
        if (bytes > limit(RLIMIT_MEMLOCK))
            return -ENOMEM;
    }
    s->locker = cr->euid;
    s->obj->locked = on;
    return 0;
}

/* What IPC_STAT returns about s.  The table is locked. */
static struct shmid_ds shm_state(struct shm *s)
{
    struct shmid_ds ds = s->ds;

    ds.perm.mode |= s->obj->locked ? SHM_LOCKED : 0;
    ds.nattch = atomic_load(&s->obj->refs) - 1;
    return ds;
}

/* IPC_STAT, SHM_STAT (`id` is a place in the table), SHM_STAT_ANY (without permission).  0, the id, or error. */
static int stat_shm_segment(int id, int cmd, uint64_t udata)
{
    struct shmid_ds ds;
    struct shm *s;
    int err = -EINVAL, result = 0;

    mutex_enter(&shm_lock);
    if (cmd == IPC_STAT)
        s = find_shm_segment(id);
    else
        s = shm_of_perm(sysv_at(&shm_table, id, &result));
    if (s != NULL) {
        ds = shm_state(s);
        err = cmd == SHM_STAT_ANY ? 0 : sysv_check(&s->ds.perm, SYSV_READ);
    }
    mutex_exit(&shm_lock);
    if (err == 0)
        err = copy_out(udata, &ds, sizeof ds);
    return err != 0 ? err : result;
}

/* IPC_INFO: the limits; SHM_INFO: what is in use.  Returns the highest place in use, or -EFAULT. */
static int tell_shm_info(int cmd, uint64_t udata)
{
    struct shm_limits l = {
        .max = USER_TOP, .min = 1, .mni = SYSV_PLACES, .seg = SYSV_PLACES, .all = SHM_ALL};
    struct shm_usage u = {0};
    int top, err;

    mutex_enter(&shm_lock);
    top = sysv_top(&shm_table);
    for (int i = 0, id; i <= top; i++) {
        struct shm *s = shm_of_perm(sysv_at(&shm_table, i, &id));

        if (s == NULL)
            continue;
        u.used++;
        u.total += (s->ds.segsz + PAGE_SIZE - 1) / PAGE_SIZE;
        u.resident += s->obj->npages;
    }
    mutex_exit(&shm_lock);
    err = cmd == IPC_INFO ? copy_out(udata, &l, sizeof l) : copy_out(udata, &u, sizeof u);
    return err != 0 ? err : top;
}

/* shmctl(id, cmd, argument) */
long sys_shmctl(struct regs *r)
{
    int id = (int)r->arg[0], cmd = (int)r->arg[1], err = -EINVAL;
    struct shm *s;

    if (cmd == IPC_STAT || cmd == SHM_STAT || cmd == SHM_STAT_ANY)
        return stat_shm_segment(id, cmd, r->arg[2]);
    if (cmd == IPC_INFO || cmd == SHM_INFO)
        return tell_shm_info(cmd, r->arg[2]);
    mutex_enter(&shm_lock);
    s = find_shm_segment(id);
    if (s != NULL && (cmd == IPC_SET || cmd == IPC_RMID))
        err = set_or_remove_shm(s, id, cmd, r->arg[2]);
    else if (s != NULL && (cmd == SHM_LOCK || cmd == SHM_UNLOCK))
        err = lock_shm_segment(s, cmd == SHM_LOCK);
    mutex_exit(&shm_lock);
    return err;
}

/* /proc/sysvipc/shm, and the limits in /proc/sys/kernel, in Linux's format. */
PROCFS_SHOW(procfs_show_shm)
{
    if (n->tag == SHOW_SHMMAX)
        text_add(out, "%lu\n", (uint64_t)USER_TOP);
    if (n->tag == SHOW_SHMALL)
        text_add(out, "%lu\n", SHM_ALL);
    if (n->tag == SHOW_SHMMNI)
        text_add(out, "%d\n", SYSV_PLACES);
    if (n->tag != SHOW_LIST)
        return 0;
    text_str(out,
             "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  "
             "cuid  cgid      atime      dtime      ctime                   rss                  "
             "swap\n");
    for (int i = 0, id; i < SYSV_PLACES; i++) {
        struct shmid_ds ds;
        uint64_t resident = 0;
        struct shm *s;

        mutex_enter(&shm_lock);
        s = shm_of_perm(sysv_at(&shm_table, i, &id));
        if (s != NULL) {
            ds = shm_state(s);
            resident = s->obj->npages * PAGE_SIZE;
        }
        mutex_exit(&shm_lock);
        if (s == NULL)
            continue;
        text_add(out, "%10d %10d  %4o %21lu %5d %5d  %5lu ", ds.perm.key, id, ds.perm.mode,
                 ds.segsz, ds.cpid, ds.lpid, ds.nattch);
        text_add(out, "%5u %5u %5u %5u %10ld %10ld %10ld %21lu %21u\n", ds.perm.uid, ds.perm.gid,
                 ds.perm.cuid, ds.perm.cgid, ds.atime, ds.dtime, ds.ctime, resident, 0);
    }
    return 0;
}
