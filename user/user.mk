# SPDX-License-Identifier: MIT
#
# user.mk - the programs that run on Homeroom: static executables with musl as C library, each from one file.
#
#   user/lib/*.c     -> build/user/lib/libhomeroom.a    the functions that only Solaris has, and those that commands share
#   user/cmd/*.c     -> build/user/bin/NAME             commands, in every image
#   user/bench/*.c   -> build/user/bench/NAME           benchmarks, in every image
#   user/bench/ddt.c -> build/user/ondisk/ddt           a benchmark that runs from a disk, because its code is large on
#                                                       purpose
#   user/bench/      -> build/user/openmp/NAME-omp      two benchmarks again, compiled with OpenMP by the host's compiler
#                                                       and linked with glibc; for build/openmp (qemu/run.mk)
#   user/bench/      -> build/user/dynamic/NAME         one benchmark again, linked with musl at run time
#   user/preload/*.c -> build/user/dynamic/NAME.so.1    objects for LD_PRELOAD; both for build/dynamic (qemu/run.mk)
#   user/test/*.c    -> build/user/test/NAME            test programs, only in images of the test build
#
# A command that needs a second file has it in user/lib.
# Each function has its own section, and the linker leaves out functions that a program does not call
# (--gc-sections): the boot loader must read every byte of the image.

MUSL_GCC   ?= tools/musl-gcc
UFLAGS     := -std=gnu17 -O2 -g -ffunction-sections -D_GNU_SOURCE -Wall -Wextra -Wconversion -Wno-sign-conversion -Wno-unused-parameter \
              -Iuser/include -Iinclude
U          := build/user

UCC        := $(MUSL_GCC) $(UFLAGS)
ULIB       := $(U)/lib/libhomeroom.a
ULIB_OBJS  := $(patsubst user/lib/%.c,$(U)/obj/lib/%.o,$(sort $(wildcard user/lib/*.c)))
UCMDS      := $(patsubst user/cmd/%.c,$(U)/bin/%,$(sort $(wildcard user/cmd/*.c)))
UONDISK    := $(U)/ondisk/ddt
UBENCH     := $(filter-out %/ddt,$(patsubst user/bench/%.c,$(U)/bench/%,$(sort $(wildcard user/bench/*.c))))
UPRELOAD   := $(patsubst user/preload/%.c,$(U)/dynamic/%.so.1,$(sort $(wildcard user/preload/*.c)))
UDYNAMIC   := $(U)/dynamic/memcopy
UOPENMP    := $(U)/openmp/memcopy-omp $(U)/openmp/fdiff-omp
UTESTS     := $(patsubst user/test/%.c,$(U)/test/%,$(sort $(wildcard user/test/*.c)))

.PHONY: user user-tests
user: $(UCMDS) $(UBENCH) $(UONDISK) $(UPRELOAD) $(UDYNAMIC) ## commands (build/user/bin) and benchmarks (build/user/bench)
user-tests: $(UTESTS)

$(U)/obj/%.o: user/%.c | deps
	@mkdir -p $(@D)
	@echo '  UCC     $<'
	$(Q)$(UCC) $(if $(filter 1,$(WERROR)),-Werror) -MMD -MP -c -o $@ $<

$(ULIB): $(ULIB_OBJS)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $(ULIB_OBJS)

define user_link
	@mkdir -p $(@D)
	@echo '  ULD     $@'
	$(Q)$(UCC) -static -Wl,--gc-sections -Wl,-z,noseparate-code -o $@ $< $(ULIB) -lm -lpthread
endef

$(UCMDS): $(U)/bin/%: $(U)/obj/cmd/%.o $(ULIB)
	$(user_link)
$(UBENCH): $(U)/bench/%: $(U)/obj/bench/%.o $(ULIB)
	$(user_link)
$(UONDISK): $(U)/ondisk/%: $(U)/obj/bench/%.o $(ULIB)
	$(user_link)
$(UTESTS): $(U)/test/%: $(U)/obj/test/%.o $(ULIB)
	$(user_link)

$(UDYNAMIC): $(U)/dynamic/%: $(U)/obj/bench/%.o $(ULIB)
	@mkdir -p $(@D)
	@echo '  ULD     $@'
	$(Q)$(UCC) -o $@ $< $(ULIB) -lm -lpthread

# These objects are linked without a C library: they use that of the program into which they are loaded.
$(UPRELOAD): $(U)/dynamic/%.so.1: user/preload/%.c | deps
	@mkdir -p $(@D)
	@echo '  ULD     $@'
	$(Q)$(UCC) $(if $(filter 1,$(WERROR)),-Werror) -MMD -MP -MF $(U)/dynamic/$*.d -fPIC -fvisibility=hidden -shared \
	    -nostdlib -Wl,-soname,$(@F) -o $@ $<

# OpenMP programs need libgomp, and libgomp needs glibc.  So libhomeroom's files are compiled for glibc as well.
$(U)/obj/openmp/%.o: user/%.c | deps
	@mkdir -p $(@D)
	@echo '  HOSTCC  $< (OpenMP)'
	$(Q)$(HOSTCC) $(UFLAGS) -fopenmp $(if $(filter 1,$(WERROR)),-Werror) -MMD -MP -c -o $@ $<
$(UOPENMP): $(U)/openmp/%-omp: $(U)/obj/openmp/bench/%.o $(patsubst user/lib/%.c,$(U)/obj/openmp/lib/%.o,$(sort $(wildcard user/lib/*.c)))
	@mkdir -p $(@D)
	@echo '  HOSTLD  $@'
	$(Q)$(HOSTCC) -fopenmp -Wl,--gc-sections -o $@ $^ -lm

.PRECIOUS: $(U)/obj/%.o
-include $(wildcard $(U)/obj/*/*.d $(U)/obj/openmp/*/*.d $(U)/dynamic/*.d)
