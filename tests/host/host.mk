# SPDX-License-Identifier: MIT
#
# host.mk - unit tests of kernel code, built as programs for the host, with the sanitizers.
#
# THEORY      Much of the kernel is policy: code that decides, and touches no hardware.  A host test links such
#             files, unchanged, with tests/host/test_NAME.c and runs without a machine.  HOST_NAME lists the kernel
#             files.  The result is the program build/host/test_NAME; tests/host/check.h describes its options and
#             output.  Sources that several tests need with the same flags are compiled once (shared_objects).
# USAGE       make host-tests; build/host/test_load -l; build/host/test_load -s 7 step_response

HOSTCC      ?= gcc
HOST_FLAGS  := -std=gnu17 -O0 -g -DHR_HOST -Wall -Wextra -Wconversion -Wno-sign-conversion -Wno-unused-parameter -Ikernel -I. -Iinclude \
               -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer $(if $(filter 1,$(WERROR)),-Werror)

# shared_objects NAME, SOURCES, FLAGS: the rule for build/host/NAME/*.o, and NAME_OBJS, their list.  Several makes may run
# at the same time, so each object is compiled under another name and then renamed.
define shared_objects
build/host/$(1)/%.o: %.c $$(wildcard tests/host/*.h kernel/*/*.h kernel/fs/ext/*.h qemu/fireplane/*.h) | deps
	@mkdir -p $$(@D)
	@echo '  HOSTCC  $$@'
	$$(Q)$$(HOSTCC) $$(HOST_FLAGS) $(3) -c -o $$@.$$$$$$$$ $$< && mv $$@.$$$$$$$$ $$@
$(1)_OBJS := $(patsubst %.c,build/host/$(1)/%.o,$(2))
endef

ACPI_SRCS   := $(addprefix kernel/acpi/,tables.c madt.c numa.c power.c)
TOPO_SRCS   := $(addprefix kernel/lgrp/,topo.c distance.c tune.c)
LOAD_SRCS   := $(addprefix kernel/lgrp/,load.c promise.c homing.c home.c)

HOST_acpi   := $(ACPI_SRCS) tests/host/mktables.c
HOST_topo   := $(ACPI_SRCS) $(TOPO_SRCS) tests/host/mktables.c
HOST_load   := $(TOPO_SRCS) $(LOAD_SRCS)
HOST_promise := kernel/lgrp/promise.c
HOST_home   := $(TOPO_SRCS) kernel/lgrp/home.c
HOST_mempolicy := $(TOPO_SRCS) kernel/lgrp/mempolicy.c tests/host/mktopo.c
HOST_observe := kernel/lgrp/observe.c
HOST_place  := $(TOPO_SRCS) kernel/lgrp/place.c tests/host/mktopo.c
HOST_as     := $(filter-out $(addprefix kernel/vm/,check.c cold.c),$(wildcard kernel/vm/*.c)) \
               $(filter-out $(addprefix kernel/pages/,stubs.c deferred_release.c filecache.c pageout.c scan.c swap.c swap_area.c pgstats.c victims.c),$(wildcard kernel/pages/*.c)) \
               $(addprefix kernel/lib/,crng.c itree.c) kernel/mem/usermem.c kernel/mem/stubs.c kernel/pages/stubs.c kernel/vfs/stubs.c $(addprefix kernel/lgrp/,place.c mempolicy.c observe.c) $(TOPO_SRCS) \
               tests/host/machine.c
HOST_buddy  := $(addprefix kernel/mem/,page.c buddy.c magazine.c count.c page_boot.c color.c kmem.c stubs.c) tests/host/machine.c
HOST_advice := kernel/pages/advice.c tests/host/machine.c
# The lab "placement".  Its floor.c takes the place of tests/host/machine.c.
HOST_placement := $(TOPO_SRCS) $(addprefix kernel/lgrp/,place.c mempolicy.c) kernel/pages/advice.c kernel/vm/segplace.c labs/placement/floor.c
lab-recipe-placement: HOST_FLAGS += -DHR_TEST
HOST_magazine := kernel/mem/magazine.c tests/host/machine.c
HOST_page_boot := kernel/mem/page_boot.c tests/host/machine.c
HOST_timerq := kernel/disp/timerq.c
HOST_sync   := kernel/disp/sync.c tests/host/machine.c
build/host/test_sync: HOST_FLAGS += -include tests/host/synchost.h -D_GNU_SOURCE=
HOST_route  := $(TOPO_SRCS) kernel/intr/route.c tests/host/mktopo.c
HOST_class  := kernel/disp/class.c kernel/disp/ts_dptbl.c tests/host/machine.c
HOST_sched  := kernel/blk/iosched.c
HOST_mbr    := kernel/blk/mbr.c
HOST_radix  := kernel/pages/radix.c
HOST_segtree := kernel/vm/segtree.c
HOST_itree  := kernel/lib/itree.c
HOST_topology := $(TOPO_SRCS)
HOST_choose := $(TOPO_SRCS) kernel/disp/choose.c tests/host/mktopo.c
DISP_SRCS   := $(TOPO_SRCS) $(addprefix kernel/disp/,choose.c runq.c class.c ts_dptbl.c balance.c preempt.c) \
               $(addprefix tests/host/,mktopo.c machine.c dispmachine.c)
HOST_runq   := $(DISP_SRCS)
HOST_pset   := $(DISP_SRCS) $(addprefix kernel/disp/,pset.c pset_kstats.c cpu.c thread_home.c) $(LOAD_SRCS)
# The lab "sets".  Its machine.c takes the place of tests/host/machine.c, and the interrupts are those of the kernel.
HOST_sets   := $(filter-out tests/host/machine.c,$(HOST_pset)) $(addprefix kernel/intr/,intr.c route.c) labs/sets/machine.c
lab-recipe-sets: HOST_FLAGS += -DHR_TEST
HOST_cpio   := kernel/fs/initramfs/cpio.c
HOST_fs     := $(addprefix kernel/vfs/,vnode.c rdwr.c name.c nameop.c vfs.c file.c fdtable.c filelock.c) kernel/ipc/pipe.c \
               $(addprefix kernel/fs/,root.c tmpfs/tmpfs.c tmpfs/tmpfs_dir.c devfs/devfs.c initramfs/cpio.c initramfs/initramfs.c) \
               kernel/lib/itree.c kernel/pages/radix.c kernel/mem/usermem.c kernel/mem/stubs.c tests/host/fshost.c tests/host/floor.c
build/host/test_fs: HOST_FLAGS += -include tests/host/fshost.h -Wno-unused-parameter

HOST_pcache := $(addprefix kernel/pages/,pcache.c pcache_read.c filecache.c throttle.c cluster.c around.c radix.c object.c) \
               kernel/vfs/rdwr.c kernel/vfs/stubs.c tests/host/fshost.c tests/host/floor.c
build/host/test_pcache: HOST_FLAGS += -include tests/host/fshost.h -DHOST_REAL_OBJECTS
HOST_paging := kernel/pages/paging.c
HOST_cluster := kernel/pages/cluster.c
HOST_around := kernel/pages/around.c
HOST_throttle := kernel/pages/throttle.c
# The lab "paging".
HOST_lab_paging := $(addprefix kernel/pages/,paging.c throttle.c cluster.c)
HOST_slots  := kernel/pages/slots.c

# The file system on a disk in memory, without the files that connect it to vnodes, pages and mounting.
EXT_SRCS    := $(filter-out $(addprefix kernel/fs/ext/,vnops.c pages.c mount.c),$(wildcard kernel/fs/ext/*.c)) kernel/vfs/vnode.c kernel/vfs/stubs.c \
               tests/host/exthost.c tests/host/floor.c
EXT_FLAGS   := -include tests/host/exthost.h -O2
$(eval $(call shared_objects,ext,$(EXT_SRCS),$(EXT_FLAGS)))
HOST_ext    := $(ext_OBJS)
HOST_extfuzz := $(ext_OBJS)
build/host/test_ext build/host/test_extfuzz build/host/ext-replay: HOST_FLAGS += $(EXT_FLAGS)
build/host/ext-replay: tests/host/ext_replay.c $(ext_OBJS)
	@mkdir -p $(@D)
	@echo '  HOSTCC  $@'
	$(Q)$(HOSTCC) $(HOST_FLAGS) -o $@ $(filter %.c %.o,$^)

# The network: our sockets and driver, and lwIP with the kernel's settings.
HOST_net    := $(wildcard kernel/net/*.c) drivers/virtio_net.c kernel/mem/usermem.c kernel/mem/stubs.c kernel/vfs/stubs.c $(LWIP_SRCS) tests/host/nethost.c
build/host/test_net: HOST_FLAGS += -include tests/host/nethost.h $(LWIP_FLAGS) -w
build/host/test_net: $(wildcard kernel/net/port/*.h kernel/net/port/arch/*.h)

# The interconnect model.
FP_SRCS     := $(addprefix qemu/fireplane/,model.c cache.c wire.c crossbar.c heat.c params.c decode.c) tests/host/fpmachine.c
FP_FLAGS    := -O1 -Iqemu/fireplane
$(eval $(call shared_objects,fireplane,$(FP_SRCS),$(FP_FLAGS)))
HOST_fireplane := $(fireplane_OBJS)
HOST_fireplane_wire := $(fireplane_OBJS)
HOST_fireplane_crossbar := $(fireplane_OBJS)
HOST_fireplane_heat := $(fireplane_OBJS)
HOST_fpu := qemu/fireplane/fpu.c
FP_TESTS    := $(addprefix build/host/test_,fireplane fireplane_wire fireplane_crossbar fireplane_heat fpu)
$(FP_TESTS): HOST_FLAGS += $(FP_FLAGS)
$(FP_TESTS): $(wildcard qemu/fireplane/*.h)
HOST_crng   := kernel/lib/crng.c
HOST_system := kernel/stat/etc_system.c kernel/stat/tunable.c
HOST_trace  := kernel/stat/trace.c
HOST_elf    := kernel/proc/elf.c
HOST_tty    := $(addprefix kernel/tty/,tty_input.c tty_output.c)

# In these tests the kernel's direct map and page array are at addresses that a program may map.
build/host/test_as: HOST_FLAGS += -Wl,--wrap=malloc
build/host/test_as build/host/test_buddy build/host/test_page_boot: HOST_FLAGS += -DDIRECT_BASE=0x200000000000ul -DVMEMMAP_BASE=0x300000000000ul

HOST_TESTS  := $(patsubst tests/host/test_%.c,build/host/test_%,$(sort $(wildcard tests/host/test_*.c)))

.SECONDEXPANSION:
build/host/test_%: tests/host/test_%.c tests/host/check.c $$(HOST_$$*) $(wildcard tests/host/*.h kernel/*/*.h kernel/fs/*/*.h) | deps
	@mkdir -p $(@D)
	@echo '  HOSTCC  $@'
	$(Q)$(HOSTCC) $(HOST_FLAGS) -o $@ $(filter %.c %.o,$^)

# The lab "frames": the allocator without boot, and spin locks that are recorded.
HOST_frames := $(addprefix kernel/mem/,page.c buddy.c magazine.c count.c color.c stubs.c) tests/host/machine.c labs/frames/floor.c
lab-recipe-frames: HOST_FLAGS += -DHR_TEST -DDIRECT_BASE=0x200000000000ul -DVMEMMAP_BASE=0x300000000000ul
# The lab "journal".
HOST_journal := $(EXT_SRCS)
lab-recipe-journal: HOST_FLAGS += $(EXT_FLAGS)

# Three lines with the compiler, the flags and the kernel's files of test_NAME.  The grader (tools/homeroom/course) builds
# from them the program that holds a student's code.  It has no AddressSanitizer, which needs system calls to report.
LAB_FLAGS   = $(filter-out -O0 -Werror -fsanitize=% -fno-sanitize-recover=%,$(HOST_FLAGS)) -O1 -fsanitize=undefined -fsanitize-undefined-trap-on-error
lab-recipe-%:
	@echo '$(HOSTCC)'
	@echo '$(LAB_FLAGS)'
	@echo '$(HOST_$*)'

.PHONY: host-tests
host-tests: $(HOST_TESTS) ## unit tests of policy code, with sanitizers
	@for t in $^; do echo "  RUN     $$t"; $$t || exit 1; done
