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
 *             A segment's number consists of its place in the table and a count of how often the place was
 *             used.  So the number of a removed segment is not used again soon.
 * LOCKING     shm_lock guards the table.  Order: shm_lock -> address space, object
 * SEE ALSO    pages/object.h, user/preload/madv.c; semantics: Linux's manual pages shmget(2), shmat(2),
 *             shmctl(2)
 */
#include "disp/timer.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "proc/proc.h"
#include "sys/sys.h"
#include "pages/object.h"
#include "x86/uaccess.h"

/* places in the table; the last SHM_ROOT of them are only for root */
enum { SHM_PLACES = 1024, SHM_ROOT = 64 };
enum { IPC_PRIVATE = 0, IPC_CREAT = 01000, IPC_EXCL = 02000 };
enum { SHM_HUGETLB = 04000 }; /* flag of shmget */
enum {
    SHM_RDONLY = 010000,
    SHM_RND = 020000,
    SHM_REMAP = 040000,
    SHM_EXEC = 0100000
}; /* flags of shmat */
enum { SHM_LOCKED = 02000 }; /* bit of shmid_ds.mode */
enum { IPC_RMID = 0, IPC_SET = 1, IPC_STAT = 2, SHM_LOCK = 11, SHM_UNLOCK = 12 };
enum { MAY_WRITE = 2, MAY_READ = 4 };

/* Linux's struct shmid_ds on x86-64. */
struct shmid_ds {
    int32_t key;
    uint32_t uid, gid, cuid, cgid, mode;
    uint16_t seq, pad;
    uint64_t unused[2];
    uint64_t segsz;
    int64_t atime, dtime, ctime;
    int32_t cpid, lpid;
    uint64_t nattch, unused2[2];
};
_Static_assert(sizeof(struct shmid_ds) == 112, "struct shmid_ds");

struct shm {
    struct vm_object *obj; /* [c] with one reference */
    struct shmid_ds ds;    /* under shm_lock; nattch is not used */
    bool huge;             /* [c] the segment is made of huge pages */
    /* under shm_lock: id of the user that locked the segment; 0: not locked by an ordinary user */
    uint32_t locker;
};

static struct shm *table[SHM_PLACES];
/* how often each place was used; the low 15 bits are a part of the segment's number */
static uint16_t used_before[SHM_PLACES];
static struct mutex shm_lock;

void shm_init(void)
{
    mutex_init(&shm_lock, SLEEP_SHM);
}

static int64_t now_in_seconds(void)
{
    return (int64_t)(clock_real_ns() / 1000000000);
}

static int shm_id_of_place(unsigned place)
{
    return (int)((used_before[place] & 0x7fffu) * SHM_PLACES + place);
}

/* The segment with this number, or NULL.  The table is locked. */
static struct shm *find_shm_segment(int id)
{
    unsigned place = (unsigned)id % SHM_PLACES;

    return id >= 0 && table[place] != NULL && shm_id_of_place(place) == id ? table[place] : NULL;
}

static bool in_group(const struct cred *cr, uint32_t gid)
{
    bool in = cr->egid == gid;

    for (unsigned i = 0; i < cr->ngroups; i++)
        in |= cr->groups[i] == gid;
    return in;
}

/* Returns 0 if the caller has all permissions in `want` (MAY_*), else -EACCES.  The creator counts as owner. */
static int check_shm_access(const struct shm *s, unsigned want)
{
    const struct cred *cr = curcred();
    unsigned mode = s->ds.mode;

    if (cr->euid == s->ds.uid || cr->euid == s->ds.cuid)
        mode >>= 6;
    else if (in_group(cr, s->ds.gid) || in_group(cr, s->ds.cgid))
        mode >>= 3;
    return (mode & want) == want || cred_superuser(cr) ? 0 : -EACCES;
}

/*
 * Creates a segment of `size` bytes.  Returns its number; -ENOSPC: the table is full; -ENOMEM;
 * -EINVAL: bad size.
 */
static int create_shm_segment(int key, uint64_t size, int flags)
{
    const struct cred *cr = curcred();
    bool huge = (flags & SHM_HUGETLB) != 0;
    uint64_t bytes = round_up(size, huge ? HUGE_SIZE : PAGE_SIZE);
    unsigned place = 0, end = cred_superuser(cr) ? SHM_PLACES : SHM_PLACES - SHM_ROOT;
    struct shm *s;

    if (size == 0 || size > USER_TOP)
        return -EINVAL;
    while (place < end && table[place] != NULL)
        place++;
    if (place == end)
        return -ENOSPC;
    s = kmem_zalloc(sizeof *s);
    if (s == NULL)
        return -ENOMEM;
    s->obj = object_create_sysv(bytes >> PAGE_SHIFT, huge);
    if (s->obj == NULL) {
        kmem_free(s);
        return -ENOMEM;
    }
    s->huge = huge;
    s->ds = (struct shmid_ds){.key = key,
                              .uid = cr->euid,
                              .gid = cr->egid,
                              .cuid = cr->euid,
                              .cgid = cr->egid,
                              .mode = (uint32_t)flags & 0777,
                              .segsz = size,
                              .ctime = now_in_seconds(),
                              .cpid = curproc()->pid};
    used_before[place]++;
    s->ds.seq = used_before[place];
    table[place] = s;
    return shm_id_of_place(place);
}

/*
 * shmget() for a segment that exists.  Returns its id, -EEXIST, -EACCES; -EINVAL: the segment is
 * smaller than `size`.
 */
static int get_old_segment(unsigned place, uint64_t size, int flags, unsigned want)
{
    int err;

    if ((flags & (IPC_CREAT | IPC_EXCL)) == (IPC_CREAT | IPC_EXCL))
        return -EEXIST;
    if (size > table[place]->ds.segsz)
        return -EINVAL;
    err = check_shm_access(table[place], want);
    return err != 0 ? err : shm_id_of_place(place);
}

/* shmget(key, size, flags) */
long sys_shmget(struct regs *r)
{
    int key = (int)r->arg[0], flags = (int)r->arg[2], err;
    uint64_t size = r->arg[1];
    unsigned want = (unsigned)((flags | flags >> 3 | flags >> 6) & 7) & (MAY_READ | MAY_WRITE);

    mutex_enter(&shm_lock);
    err = key == IPC_PRIVATE || (flags & IPC_CREAT) ? 0 : -ENOENT;
    for (unsigned i = 0; i < SHM_PLACES && key != IPC_PRIVATE; i++)
        if (table[i] != NULL && table[i]->ds.key == key) {
            err = get_old_segment(i, size, flags, want);
            mutex_exit(&shm_lock);
            return err;
        }
    if (err == 0)
        err = create_shm_segment(key, size, flags);
    mutex_exit(&shm_lock);
    return err;
}

/* Maps the segment at *addr (0: any address) and stores the address there.  The table is locked. */
static int attach_shm_segment(struct shm *s, uint64_t *addr, int flags)
{
    int prot =
        PROT_READ | (flags & SHM_RDONLY ? 0 : PROT_WRITE) | (flags & SHM_EXEC ? PROT_EXEC : 0);
    int map = MAP_SHARED | MAP_ANONYMOUS | (s->huge ? MAP_HUGETLB : 0);
    int err = check_shm_access(s, MAY_READ | (flags & SHM_RDONLY ? 0 : MAY_WRITE));

    if (err != 0)
        return err;
    if (*addr != 0)
        map |= flags & SHM_REMAP ? MAP_FIXED : MAP_FIXED_NOREPLACE;
    err = as_map(curproc()->as, addr, s->ds.segsz, prot, map, s->obj, 0, NULL,
                 flags & SHM_RDONLY ? PROT_WRITE : 0);
    if (err != 0)
        return err == -EEXIST ? -EINVAL : err;
    s->ds.atime = now_in_seconds();
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
    for (unsigned i = 0; i < SHM_PLACES; i++)
        if (table[i] != NULL && table[i]->obj == obj) {
            table[i]->ds.dtime = now_in_seconds();
            table[i]->ds.lpid = curproc()->pid;
        }
    mutex_exit(&shm_lock);
    return 0;
}

/* IPC_SET: sets owner and mode from the user's shmid_ds.  IPC_RMID: removes s.  The table is locked. */
static int set_or_remove_shm(struct shm *s, unsigned place, int cmd, uint64_t udata)
{
    const struct cred *cr = curcred();
    struct shmid_ds ds;
    int err;

    if (cr->euid != s->ds.uid && cr->euid != s->ds.cuid && !cred_superuser(cr))
        return -EPERM;
    if (cmd == IPC_RMID) {
        table[place] = NULL;
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
    s->ds.uid = ds.uid;
    s->ds.gid = ds.gid;
    s->ds.mode = ds.mode & 0777;
    s->ds.ctime = now_in_seconds();
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

    if (cr->euid != s->ds.uid && cr->euid != s->ds.cuid && !cred_superuser(cr))
        return -EPERM;
    if (on && !cred_superuser(cr)) {
        if (limit(RLIMIT_MEMLOCK) == 0)
            return -EPERM;
        for (unsigned i = 0; i < SHM_PLACES; i++)
            if (table[i] != NULL && table[i] != s && table[i]->obj->locked &&
                table[i]->locker == cr->euid)
                bytes += table[i]->ds.segsz;
        if (bytes > limit(RLIMIT_MEMLOCK))
            return -ENOMEM;
    }
    s->locker = cr->euid;
    s->obj->locked = on;
    return 0;
}

/* shmctl(id, cmd, struct shmid_ds *).  What ipcs uses (IPC_INFO, SHM_INFO, SHM_STAT) is not implemented. */
long sys_shmctl(struct regs *r)
{
    int id = (int)r->arg[0], cmd = (int)r->arg[1], err = -EINVAL;
    struct shmid_ds ds;
    struct shm *s;

    mutex_enter(&shm_lock);
    s = find_shm_segment(id);
    if (s == NULL) {
        err = -EINVAL;
    } else if (cmd == IPC_STAT) {
        ds = s->ds;
        ds.mode |= s->obj->locked ? SHM_LOCKED : 0;
        ds.nattch = atomic_load(&s->obj->refs) - 1;
        err = check_shm_access(s, MAY_READ);
        if (err == 0)
            err = copy_out(r->arg[2], &ds, sizeof ds);
    } else if (cmd == IPC_SET || cmd == IPC_RMID) {
        err = set_or_remove_shm(s, (unsigned)id % SHM_PLACES, cmd, r->arg[2]);
    } else if (cmd == SHM_LOCK || cmd == SHM_UNLOCK) {
        err = lock_shm_segment(s, cmd == SHM_LOCK);
    }
    mutex_exit(&shm_lock);
    return err;
}
