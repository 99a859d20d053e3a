# SPDX-License-Identifier: MIT
#
# user.mk - programs that run on Homeroom: static musl executables, one per file.
#
#   user/lib/*.c     -> build/user/lib/libhomeroom.a    the calls that only Solaris has
#   user/cmd/*.c     -> build/user/bin/NAME             commands, installed in every image
#   user/bench/*.c   -> build/user/bench/NAME           benchmarks, installed in every image; but ddt, whose code is
#                                                       large on purpose and which runs from a disk: build/user/ondisk
#                        -> build/user/openmp/NAME-omp  two of them again, by the host's compiler with OpenMP, for glibc: build/openmp
#   user/test/*.c    -> build/user/test/NAME            test programs, in the tests' images only
#   user/preload/*.c -> build/user/dynamic/NAME.so.1    objects for LD_PRELOAD, and beside them benchmarks that are linked
#                                                       with musl at run time: in build/dynamic (qemu/run.mk)
#
# A command that needs a second file keeps it in user/lib.
# Functions have sections of their own, and what a program does not call is left out: the boot loader reads each byte.

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
user: $(UCMDS) $(UBENCH) $(UONDISK) $(UPRELOAD) $(UDYNAMIC) ## the programs of the image (build/user/bin)
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

# They name no C library: they take the one of the program they come into.
$(UPRELOAD): $(U)/dynamic/%.so.1: user/preload/%.c | deps
	@mkdir -p $(@D)
	@echo '  ULD     $@'
	$(Q)$(UCC) $(if $(filter 1,$(WERROR)),-Werror) -MMD -MP -MF $(U)/dynamic/$*.d -fPIC -fvisibility=hidden -shared \
	    -nostdlib -Wl,-soname,$(@F) -o $@ $<

# The compiler's threads: its run time is libgomp, which wants glibc, so the library is compiled for that as well.
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
