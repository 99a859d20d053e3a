# SPDX-License-Identifier: MIT
#
# run.mk - builds the images that machines boot, and runs machines.
#
# A machine boots the kernel with an initramfs, an archive that becomes the root file system in memory.  The CD image
# (homeroom.iso) contains both.  qemu/launch.py starts QEMU.  PEER=linux boots Linux instead, with the same benchmarks
# (docs/peer.md).

MACHINES   := $(basename $(notdir $(wildcard qemu/machines/*.toml)))
IMAGE      := PYTHONPATH=tools STRIP=$(TOOLPREFIX)strip OBJCOPY=$(OBJCOPY) $(PYTHON) -m homeroom.image
IMAGE_DEPS := tools/homeroom/image.py tools/homeroom/cpio.py tools/homeroom/manual.py
ISO        := $(B)/homeroom.iso

.PHONY: iso
iso: $(ISO) ## the bootable CD image (build/homeroom.iso)

$(B)/initramfs.cpio: $(UCMDS) $(UBENCH) $(if $(filter 1,$(TEST)),$(UTESTS)) $(wildcard user/etc/* user/etc/*/*) $(IMAGE_DEPS)
	@echo '  CPIO    $@'
	@mkdir -p $(@D)
	$(Q)$(IMAGE) initramfs $@ --etc user/etc --bin $(U)/bin $(if $(UBENCH),--bin $(U)/bench) \
	    $(if $(and $(filter 1,$(TEST)),$(UTESTS)),--test $(U)/test)

$(ISO): $(B)/kernel.elf $(B)/initramfs.cpio boot/grub.cfg $(IMAGE_DEPS)
	@echo '  ISO     $@'
	$(Q)$(IMAGE) iso $@ $(B)/kernel.elf $(B)/initramfs.cpio

# Debian's programs, and ours that are linked at run time, as a tree for OVERLAY=build/dynamic.  The file build/dynamic.made
# exists only if the tree is complete.
DYNAMIC    := build/dynamic.made
.PHONY: dynamic
dynamic: $(DYNAMIC) ## iperf, sqlite3, numactl, madv.so.1, ...: a tree for OVERLAY=build/dynamic
$(DYNAMIC): $(UDYNAMIC) $(UPRELOAD) tools/homeroom/dynamic.py | deps
	@echo '  COPY    build/dynamic'
	$(Q)PYTHONPATH=tools $(PYTHON) -m homeroom.dynamic build/dynamic --debian $(UDYNAMIC:%=--bin %) $(UPRELOAD:%=--lib %)
	$(Q)touch $@

# The benchmarks that use OpenMP, with Debian's libgomp.  build/openmp.made exists only if the tree is complete.
OPENMP     := build/openmp.made
.PHONY: openmp
openmp: $(OPENMP) ## memcopy-omp and fdiff-omp: a tree for OVERLAY=build/openmp
$(OPENMP): $(UOPENMP) tools/homeroom/dynamic.py | deps
	@echo '  COPY    build/openmp'
	$(Q)PYTHONPATH=tools $(PYTHON) -m homeroom.dynamic build/openmp $(UOPENMP:%=--glibc %)
	$(Q)touch $@

# The same root file system and build/dynamic as a disk, for ROOT=ext.  What a run writes stays there, until one of the files
# on which the image depends changes: then make builds it anew.
ROOT_IMAGE := $(B)/root.img
.PHONY: root
root: $(ROOT_IMAGE) ## the root file system as a disk (build/root.img), for ROOT=ext
$(ROOT_IMAGE): $(B)/initramfs.cpio $(DYNAMIC) $(IMAGE_DEPS) | deps
	@echo '  MKE2FS  $@'
	$(Q)$(IMAGE) root $@ --etc user/etc --bin $(U)/bin $(if $(UBENCH),--bin $(U)/bench) --tree build/dynamic \
	    $(if $(and $(filter 1,$(TEST)),$(UTESTS)),--test $(U)/test)

# An image that exits at once: it shows the time that the firmware and GRUB take (`make boot-time`).
build/boot/exit_at_once.elf: tests/boot/exit_at_once.S
	@mkdir -p $(@D)
	$(Q)$(CC) -nostdlib -static -Wl,--build-id=none -Wl,-Ttext=0x100000 -Wl,-e,start -Wl,-n -o $@ $<
build/boot/exit_at_once.iso: build/boot/exit_at_once.elf boot/grub.cfg $(IMAGE_DEPS)
	$(Q)$(IMAGE) iso $@ $<

# Linux for comparison: Debian's kernel, downloaded once (tools/deps.sh peer), with an initramfs of ours.
PEER_BIN   := $(patsubst tools/peer/%.c,build/peer/bin/%,$(wildcard tools/peer/*.c))
$(PEER_BIN): build/peer/bin/%: tools/peer/%.c include/uapi/fireplane.h $(ULIB) | deps
	@mkdir -p $(@D)
	@echo '  ULD     $@'
	$(Q)$(UCC) $(if $(filter 1,$(WERROR)),-Werror) -static -o $@ $< $(ULIB)
build/peer/initramfs.cpio: $(PEER_BIN) $(UBENCH) $(wildcard user/etc/* user/etc/*/*) $(IMAGE_DEPS)
	@echo '  CPIO    $@'
	$(Q)$(IMAGE) initramfs $@ --etc user/etc --bin build/peer/bin --bin $(U)/bench
.PHONY: peer
peer: deps build/peer/initramfs.cpio ## Linux for PEER=linux (build/peer)

# The interconnect model, a plugin of QEMU.  It needs only a compiler: qemu/fireplane/qemu_api.h declares QEMU's interface.
# Loops and jumps are not aligned: with the alignment, QEMU took 5 % more CPU time (memcopy, eight pairs of runs), because a load of
# QEMU's own took three times as long.  The cause is not known.
FIREPLANE      := build/fireplane.so
FIREPLANE_SRCS := $(wildcard qemu/fireplane/*.c)
.PHONY: fireplane
fireplane: $(FIREPLANE) ## the interconnect model, a plugin of QEMU (build/fireplane.so)
$(FIREPLANE): $(FIREPLANE_SRCS) $(wildcard qemu/fireplane/*.h) include/uapi/fireplane.h | deps
	@echo '  PLUGIN  $@'
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) -std=gnu17 -O3 $(if $(findstring clang,$(HOSTCC)),,-flto=auto -fno-align-loops -fno-align-jumps) -g -fPIC -shared -fvisibility=hidden $(WARN) $(if $(filter 1,$(WERROR)),-Werror) \
	    -Iqemu/fireplane -Iinclude -o $@ $(FIREPLANE_SRCS) -lpthread

# What the grader sees of a guest, a plugin of QEMU.
build/witness.so: qemu/witness/witness.c qemu/fireplane/qemu_api.h | deps
	@echo '  PLUGIN  $@'
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) -std=gnu17 -O3 -g -fPIC -shared -fvisibility=hidden $(WARN) $(if $(filter 1,$(WERROR)),-Werror) -Iqemu/fireplane -o $@ $<

# The reference disk, a plugin of nbdkit.
REFDISK := build/refdisk.so
.PHONY: refdisk
refdisk: $(REFDISK) ## the reference disk, a plugin of nbdkit (build/refdisk.so)
$(REFDISK): qemu/refdisk/refdisk.c | deps
	@echo '  PLUGIN  $@'
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) -std=gnu17 -O2 -g -fPIC -shared $(WARN) $(if $(filter 1,$(WERROR)),-Werror) -o $@ $< -lm

# The groups of tools/deps.txt that the commands of this file need.
RUN_DEPS    = $(call called,gdb,gdb) $(if $(PEER)$(call called,1,peer),peer) \
              $(if $(ROOT)$(findstring build/dynamic,$(OVERLAY))$(call called,1,dynamic root),dynamic) \
              $(if $(findstring refdisk:,$(DISK))$(call called,1,refdisk test test-images),refdisk)

# The files that must be built before a machine can run.
BOOTED     := $(if $(PEER),peer,$(ISO)) $(if $(MODEL),$(FIREPLANE)) $(if $(ROOT),$(ROOT_IMAGE)) \
              $(if $(findstring build/dynamic,$(OVERLAY)),$(DYNAMIC)) $(if $(findstring build/openmp,$(OVERLAY)),$(OPENMP)) \
              $(if $(findstring refdisk:,$(DISK)),$(REFDISK))

# $(call check,MACHINE): stop with a message if a variable has a wrong value, before anything is built.  MACHINE is a word of
# the shell.  If Python is not installed yet, nothing is checked here: the launcher checks again when it runs the machine.
check       = @! command -v $(PYTHON) >/dev/null || $(PYTHON) qemu/launch.py $(1) --make --check --iso $(ISO)

# qemu-<machine>: ## run sf280r v880 t2000 sf3800 sf4800 sf6800 sf12k sf15k sf15k-76 sf15k-maxcpu
# Any other name is a machine of the tests, or wrong: the launcher knows.
define run_machine
	$(call check,'$(@:qemu-%=%)')
	@tools/deps.sh $(DEPS)
	$(call build,$(BOOTED))
	@$(PYTHON) qemu/launch.py '$(@:qemu-%=%)' --make --iso $(ISO)
endef
.PHONY: $(MACHINES:%=qemu-%)
$(MACHINES:%=qemu-%):
	$(run_machine)
qemu-%: FORCE
	$(run_machine)

.PHONY: live
live: ## MACHINE=sf15k: run it and show it in a browser; without MACHINE=: the one that runs (PID=). RECORD=f.html PORT=8015
	$(if $(MACHINE),$(call check,"$$MACHINE"))
	@tools/deps.sh $(DEPS)
	$(if $(MACHINE),$(call build,$(BOOTED)))
	@PYTHONPATH=tools $(PYTHON) -m homeroom.live.server $${MACHINE:+--machine "$$MACHINE" --iso $(ISO)} \
	    $${PID:+--pid="$$PID"} $${RECORD:+--record="$$RECORD"} $${PORT:+--port="$$PORT"}

# Only the standard library of Python is needed.
.PHONY: heat
heat: ## misses by page and board of the machine that runs with HEAT=, as CSV (FILE=heat.csv PID=process)
	@PYTHONPATH=tools $(PYTHON) -m homeroom.heat $${FILE:+--file="$$FILE"} $${PID:+--pid="$$PID"}

.PHONY: replay
replay: ## FILE=f.html: check a recording of make live, and open it
	@PYTHONPATH=tools $(PYTHON) -m homeroom.live.record "$${FILE:-}"

.PHONY: gdb
gdb: ## MACHINE=sf6800: GDB, stopped in kmain, with lgrps, runq, threads, pages
	$(call check,"$${MACHINE:-sf6800}")
	@tools/deps.sh $(DEPS)
	$(call build,$(BOOTED))
	@tools/gdb/run.sh "$${MACHINE:-sf6800}" $(ISO) $(B)/kernel.elf

.PHONY: boot-time
boot-time: ## CPU time of a boot, compared with that of the firmware and GRUB alone
	$(call build,$(ISO) build/boot/exit_at_once.iso)
	@$(PYTHON) tools/boot_time.py

.PHONY: osbench
osbench: ## instructions of kernel paths, compared with Linux: writes docs/performance.md
	$(call build,$(ISO))
	@PYTHONPATH=tools $(PYTHON) tools/osbench_report.py

.PHONY: model-speed
model-speed: ## MACHINE=sf15k: the cost of the interconnect model, in CPU time of QEMU
	$(call check,"$${MACHINE:-sf15k}")
	$(call build,$(ISO) $(FIREPLANE))
	@$(PYTHON) tools/model_speed.py "$${MACHINE:-sf15k}"
