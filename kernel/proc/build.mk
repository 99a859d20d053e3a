# SPDX-License-Identifier: MIT
#
# proc/build.mk - the rules for the vDSO.
#
# The vDSO is a small shared object that the kernel maps into every process; it reads the clock without a system call.
# It runs in user mode, so it has flags of its own and is linked separately.  The kernel contains the finished file
# (kernel/proc/vdso_image.S).

KSRCS       := $(filter-out kernel/proc/vdso/%,$(KSRCS))

VDSO_FLAGS  := -std=gnu17 -O2 -fPIC -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables \
               -fomit-frame-pointer -fno-common -mgeneral-regs-only -Wall -Wextra -Wconversion -Wno-sign-conversion

$(B)/vdso.so: kernel/proc/vdso/vdso_user.c kernel/proc/vdso/vdso.lds kernel/proc/vdso.h kernel/proc/build.mk | deps
	@mkdir -p $(@D)
	@echo '  VDSO    $@'
	$(Q)$(CC) $(VDSO_FLAGS) -Ikernel -nostdlib -shared -Wl,-T,kernel/proc/vdso/vdso.lds -Wl,--hash-style=both \
	    -Wl,-soname,linux-vdso.so.1 -Wl,--build-id=none -Wl,-Bsymbolic -Wl,-z,noexecstack -Wl,-z,max-page-size=4096 \
	    -o $@ kernel/proc/vdso/vdso_user.c

$(B)/obj/kernel/proc/vdso_image.o: $(B)/vdso.so
$(B)/obj/kernel/proc/vdso_image.o: KCC += -Wa,-I$(B)
