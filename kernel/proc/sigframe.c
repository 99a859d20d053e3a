// SPDX-License-Identifier: MIT
/*
 * sigframe.c - the frame on the user's stack on which a signal handler runs, in Linux's x86-64 layout.
 *
 * THEORY      A handler must be able to return to the interrupted code.  Therefore the kernel saves the
 *             LWP's registers in a frame on the user's stack and starts the handler; rt_sigreturn(2)
 *             restores them from there.
 *             From low to high addresses a frame has the return address (sa_restorer, which calls
 *             rt_sigreturn), the ucontext (registers, FPU pointer, signal mask), the siginfo, and the FXSAVE
 *             image, 64-byte aligned.
 *             Programs read and change the ucontext.  For example, musl's cancellation inspects RIP and changes
 *             it.  Therefore sigframe_pop() trusts no value in the ucontext: the kernel sets the segment
 *             selectors, filters the flags, requires RIP below USER_TOP, and clears reserved MXCSR bits.
 * INVARIANTS  S6  no frame can give a program a register value that it could not load itself in user mode
 * LOCKING     The LWP holds no lock, because it accesses user memory.
 * SEE ALSO    sigdeliver.c; Linux's arch/x86/include/uapi/asm/{sigcontext,ucontext}.h for the layout
 */
#include "proc/proc_impl.h"

#include "disp/context.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "x86/trap.h"
#include "x86/uaccess.h"

enum { RED_ZONE = 128 };
enum { UC_SIGCONTEXT_SS = 2, UC_STRICT_RESTORE_SS = 4 };

#define FLAG_DF 0x400ul
#define FLAG_RF 0x10000ul

struct sigcontext {
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip,
        rflags;
    uint16_t cs, gs, fs, ss;
    uint64_t err, trapno, oldmask, cr2, fpstate;
    uint64_t reserved[8];
};

struct ucontext {
    uint64_t flags, link;
    struct {
        uint64_t sp;
        uint32_t flags, pad;
        uint64_t size;
    } stack;
    struct sigcontext mc;
    uint64_t sigmask;
};

struct sigframe {
    uint64_t pretcode;
    struct ucontext uc;
    struct user_siginfo info;
};

_Static_assert(sizeof(struct sigcontext) == 256 && sizeof(struct ucontext) == 304 &&
                   sizeof(struct sigframe) == 440,
               "layout of Linux");
_Static_assert(SIGFRAME_MAX >= sizeof(struct sigframe) + FPU_SIZE + RED_ZONE + 64 + 16,
               "SIGFRAME_MAX");

void siginfo_to_user(struct user_siginfo *u, const struct siginfo *k)
{
    u->signo = k->signo;
    u->err = k->err;
    u->code = k->code;
    u->pad = 0;
    memcpy(u->fields, k->raw, sizeof u->fields);
}

bool sig_on_altstack(const struct lwp *l, uint64_t sp)
{
    return sp > l->altstack_sp && sp - l->altstack_sp <= l->altstack_size;
}

int32_t sig_altstack_flags(const struct lwp *l, uint64_t sp)
{
    if (l->altstack_size == 0)
        return SS_DISABLE;
    return sig_on_altstack(l, sp) ? SS_ONSTACK : 0;
}

/* Address below which the frame must end: the top of the alternate stack, or rsp without the red zone. */
static uint64_t signal_stack_top(const struct lwp *l, const struct regs *r,
                                 const struct sigaction *act)
{
    if ((act->flags & SA_ONSTACK) && l->altstack_size != 0 && !sig_on_altstack(l, r->rsp))
        return l->altstack_sp + l->altstack_size;
    return r->rsp - RED_ZONE;
}

static void save_sigcontext(struct sigcontext *mc, const struct regs *r)
{
    mc->r8 = r->r8;
    mc->r9 = r->r9;
    mc->r10 = r->r10;
    mc->r11 = r->r11;
    mc->r12 = r->r12;
    mc->r13 = r->r13;
    mc->r14 = r->r14;
    mc->r15 = r->r15;
    mc->rdi = r->rdi;
    mc->rsi = r->rsi;
    mc->rbp = r->rbp;
    mc->rbx = r->rbx;
    mc->rdx = r->rdx;
    mc->rax = r->rax;
    mc->rcx = r->rcx;
    mc->rsp = r->rsp;
    mc->rip = r->rip;
    mc->rflags = r->rflags;
    mc->cs = SEL_UCODE;
    mc->gs = 0;
    mc->fs = 0;
    mc->ss = SEL_UDATA;
    mc->err = r->err;
}

/* Set *r from *mc, except for privileged state: the selectors, and the flags outside USER_FLAGS (S6). */
static void restore_sigcontext(struct regs *r, const struct sigcontext *mc)
{
    r->r8 = mc->r8;
    r->r9 = mc->r9;
    r->r10 = mc->r10;
    r->r11 = mc->r11;
    r->r12 = mc->r12;
    r->r13 = mc->r13;
    r->r14 = mc->r14;
    r->r15 = mc->r15;
    r->rdi = mc->rdi;
    r->rsi = mc->rsi;
    r->rbp = mc->rbp;
    r->rbx = mc->rbx;
    r->rdx = mc->rdx;
    r->rax = mc->rax;
    r->rcx = mc->rcx;
    r->rsp = mc->rsp;
    r->rip = mc->rip;
    r->rflags = (mc->rflags & USER_FLAGS) | FLAG_FIXED;
    r->cs = SEL_UCODE;
    r->ss = SEL_UDATA;
    r->orig_rax = UINT64_MAX;
}

int sigframe_push(struct lwp *l, struct regs *r, int sig, const struct siginfo *info,
                  const struct sigaction *act, sigset_t old_mask)
{
    struct sigframe f;
    uint64_t fp, at, top = signal_stack_top(l, r, act);

    if (top < SIGFRAME_MAX || top > USER_TOP || act->handler >= USER_TOP ||
        !(act->flags & SA_RESTORER))
        return -EFAULT;
    if (sig_on_altstack(l, r->rsp) && (act->flags & SA_ONSTACK) &&
        !sig_on_altstack(l, top - SIGFRAME_MAX))
        return -EFAULT; /* nested handlers have used up the alternate stack */
    fp = (top - FPU_SIZE) & ~63ul;
    /* the handler must find the stack as after a call: rsp % 16 == 8 */
    at = ((fp - sizeof f) & ~15ul) - 8;

    thread_fpu_save(&l->t);
    /* clear the bytes for software use: no extended state follows */
    memset((char *)l->t.fpu + 464, 0, 48);
    if (copy_out(fp, l->t.fpu, FPU_SIZE) != 0)
        return -EFAULT;
    f.pretcode = act->restorer;
    f.uc.flags = UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS;
    f.uc.link = 0;
    f.uc.stack.sp = l->altstack_sp;
    f.uc.stack.flags = sig_altstack_flags(l, r->rsp);
    f.uc.stack.pad = 0;
    f.uc.stack.size = l->altstack_size;
    save_sigcontext(&f.uc.mc, r);
    f.uc.mc.trapno = 0;
    f.uc.mc.oldmask = old_mask;
    f.uc.mc.cr2 = sig == SIGSEGV || sig == SIGBUS ? info->fault.addr : 0;
    f.uc.mc.fpstate = fp;
    memset(f.uc.mc.reserved, 0, sizeof f.uc.mc.reserved);
    f.uc.sigmask = old_mask;
    siginfo_to_user(&f.info, info);
    if (copy_out(at, &f, sizeof f) != 0)
        return -EFAULT;

    thread_fpu_init(&l->t);
    r->rdi = (uint64_t)sig;
    r->rsi = at + offsetof(struct sigframe, info);
    r->rdx = at + offsetof(struct sigframe, uc);
    r->rax = 0;
    r->rsp = at;
    r->rip = r->rcx = act->handler;
    r->rflags = r->r11 = (r->rflags & ~(FLAG_TF | FLAG_DF | FLAG_RF)) | FLAG_FIXED;
    r->orig_rax = UINT64_MAX;
    return 0;
}

int sigframe_pop(struct lwp *l, struct regs *r)
{
    uint64_t at = r->rsp - 8; /* `ret` to the restorer has popped pretcode */
    struct ucontext uc;
    uint8_t fpu[FPU_SIZE] __attribute__((aligned(16)));

    if (copy_in(&uc, at + offsetof(struct sigframe, uc), sizeof uc) != 0 || uc.mc.rip >= USER_TOP)
        return -EFAULT;
    if (uc.mc.fpstate == 0) {
        thread_fpu_init(&l->t);
    } else {
        if (copy_in(fpu, uc.mc.fpstate, FPU_SIZE) != 0)
            return -EFAULT;
        x86_fpu_sanitise(fpu);
        irq_push(); /* a context switch between these two would overwrite t.fpu */
        memcpy(l->t.fpu, fpu, FPU_SIZE);
        thread_fpu_load(&l->t);
        irq_pop();
    }
    restore_sigcontext(r, &uc.mc);
    atomic_fetch_or(&l->t.ast, AST_REGS);
    sig_mask_set(uc.sigmask & ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP)));
    return 0;
}
