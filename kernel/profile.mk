# SPDX-License-Identifier: MIT
#
# profile.mk - the optional parts of the kernel, and the profiles that leave some of them out.
#
#   PROFILE=core    lgroups, dispatcher, frames, address spaces, processes, signals, pipes, terminal, files in memory
#   PROFILE=disk    core and disks, the journalled file system, the page cache of disk files, pageout and swap,
#                   System V semaphores, ptrace
#   PROFILE=full    everything (the default)
#
# A part is a list of files (PART_NAME).  A kernel without the part contains kernel/absent/no_NAME.c instead: short
# versions of those functions of the part that the rest of the kernel calls.

PART_net    := kernel/net/% kernel/sys/sys_net.c kernel/sys/cmsg.c drivers/virtio_net.c
PART_pty    := kernel/tty/pty.c
PART_model  := kernel/fireplane/% drivers/fireplane.c kernel/procfs/procfs_heat.c
PART_disk   := kernel/blk/% kernel/fs/ext/% kernel/vfs/bdev.c kernel/procfs/procfs_disk.c kernel/fs/sysfs/sysfs_block.c \
               drivers/ide.c drivers/pci.c drivers/virtio.c drivers/virtio_blk.c
PART_paging := $(addprefix kernel/pages/,around.c cachelist.c deferred_release.c pageout.c paging.c pcache_read.c \
               scan.c slots.c swap.c swap_area.c victims.c) kernel/vm/cold.c kernel/sys/sys_swap.c
PART_numa   := kernel/pages/rangepolicy.c kernel/vm/mbind.c kernel/vm/movepages.c kernel/sys/sys_mbind.c \
               kernel/procfs/procfs_numa.c
PART_compat := $(addprefix kernel/ipc/,ctimer.c eventfd.c timerfd.c) $(addprefix kernel/proc/,ptimer.c sigio.c signalfd.c) \
               $(addprefix kernel/sys/,sys_event.c sys_timer.c sys_memfd.c sys_xattr.c) kernel/fs/tmpfs/memfd.c
PART_sem    := kernel/sys/sys_sem.c
PART_ptrace := $(addprefix kernel/proc/,ptrace.c ptrace_regs.c coredump.c) kernel/sys/sys_ptrace.c kernel/procfs/procfs_access.c
PART_observe := kernel/lgrp/observe.c kernel/vm/observe.c kernel/disp/follow.c kernel/proc/observer.c
PARTS       := net pty model disk paging numa compat sem ptrace observe

ABSENT_full :=
ABSENT_disk := net pty model compat observe
ABSENT_core := $(PARTS)
ABSENT      := $(ABSENT_$(PROFILE))

KSRCS       := $(filter-out $(foreach p,$(ABSENT),$(PART_$(p))) \
               $(foreach p,$(filter-out $(ABSENT),$(PARTS)),kernel/absent/no_$(p).c),$(KSRCS))
ifeq ($(PROFILE),core)
KSRCS       := $(filter-out kernel/vmcoreinfo.c,$(KSRCS)) # nothing in the kernel calls it
endif
ifneq ($(filter net,$(ABSENT)),)
KOBJS_EXTRA :=
endif
