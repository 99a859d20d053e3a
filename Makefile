# SPDX-License-Identifier: MIT
#
# Makefile - builds the kernel and its programs, runs machines and tests; `make help` lists the commands.
#
# THEORY      build/ holds the normal kernel.  build/test/ holds the test kernel (TEST=1), which also checks lock
#             ranks, invariants and leaks.  User programs are the same for both, in build/user.  Each kernel has an
#             initramfs beside it; the one of the test kernel also contains the test programs.
#             The kernel is every .c and .S file below kernel/, drivers/ and boot/, so a new file needs no change
#             here.  A folder that needs other rules for its files has a kernel/*/build.mk.
#             Two makes that build at the same time would write the same files.  So a goal that builds holds
#             build/.lock while it works (tools/alone.sh).  A goal that runs something first builds what it needs
#             with a second make ($(call build,FILES)); the lock is free again while the machine runs.
# VARIABLES   CC=gcc|clang  TOOLPREFIX=  WERROR=1  TEST=1  PROFILE=core|disk|full  V=1 (print commands)
# SEE ALSO    user/user.mk (programs), qemu/run.mk (machines), tools/deps.txt (what must be installed)

SHELL       := /bin/bash
MAKEFLAGS   += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# ---- mistakes ----------------------------------------------------------------------------------
# The variables that a user may set.  qemu/launch.py --check checks the values of those for machines (RUN_VARS).
RUN_VARS    := RUN SYSTEM RELEASE OVERLAY BOARDS MEM SEED ACPI WATCHDOG TIMEOUT ICOUNT THREADS QEMU_ARGS PEER BALANCING PEER_SCHED PEER_DEPTH
RUN_VARS    += MODEL MODEL_SET MODEL_PAGE HEAT DISK SWAP ROOT NET FORWARD TRACE
COURSE_VARS := SOLUTION UPDATE AUTOGRADER REGRADE SIMILAR SOLVED NOW CSV TERM_SEED
KNOWN       := $(RUN_VARS) ARGS MACHINE TEST V WERROR CC TOOLPREFIX PYTHON HOSTCC MUSL_GCC KCFLAGS PYTEST PAPER LAB LABS FILE $(COURSE_VARS) \
               JOBS QUICK FULL SNAKEMAKE SCALE MIB RUNS ROWS RECORDS STEPS SET SEEDS STORE WINDOW PAGE GDB_ARGS CI HR_REQUIRE MIRROR DEBIAN \
               EXPERIMENTS_OUT CRASH_LOG SERVE PROFILE TIME PROGRAMS RECORD PORT PID
GIVEN       := $(foreach v,$(filter-out -% .% MAKE%,$(.VARIABLES)),$(if $(filter command,$(origin $(v))),$(v)))
ifneq ($(filter-out $(KNOWN),$(GIVEN)),)
$(error $(firstword $(filter-out $(KNOWN),$(GIVEN)))= is not a variable of this Makefile; there are: $(KNOWN))
endif
# Programs and recipes read these variables from the environment.  make does not expand their values, so RUN='echo $$HOME'
# needs only the quotes that the shell itself requires.  These lines must stand before the first use of a shell: since
# make 4.4, shells that make starts get exported variables, too.
AS_TYPED    := $(RUN_VARS) ARGS MACHINE LAB LABS FILE PAGE $(COURSE_VARS) TIME PROGRAMS RECORD PORT PID
$(foreach v,$(AS_TYPED),$(if $(filter command line,$(origin $(v))),$(eval override $(v) := $$(value $(v)))))
export $(AS_TYPED)
# for_goals GOALS, VARIABLES: stop if one of the variables was given and none of the goals was.  Without this check such
# a variable would have no effect, and the user would get no message.
for_goals    = $(if $(filter $(1),$(MAKECMDGOALS)),,$(foreach v,$(filter $(2),$(GIVEN)),$(error $(v)= has no effect here; \
               it is for make $(subst %,<name>,$(1)))))
ifeq ($(MAKELEVEL),0)
$(call for_goals,qemu-% gdb live,$(filter-out PEER SEED RELEASE,$(RUN_VARS)))
$(call for_goals,live,RECORD PORT)
$(call for_goals,live heat,PID)
$(if $(MACHINE),$(if $(filter PID,$(GIVEN)),$(error PID= is a machine that runs already; MACHINE= starts another)))
ifeq ($(filter live,$(MAKECMDGOALS))$(MACHINE),live)
$(foreach v,$(filter $(RUN_VARS),$(GIVEN)),$(error $(v)= has no effect on a machine that runs already; give MACHINE=, too))
endif
$(call for_goals,qemu-% gdb live grade course sim-%,SEED)
$(call for_goals,qemu-% gdb live course,RELEASE)
$(call for_goals,course,LABS $(filter-out TERM_SEED,$(COURSE_VARS)))
$(call for_goals,submit,TIME)
$(call for_goals,course grade sim-%,TERM_SEED)
$(call for_goals,qemu-% gdb experiment%,PEER)
$(call for_goals,gdb live model-speed,MACHINE)
$(call for_goals,gdb,GDB_ARGS)
$(call for_goals,sim-%,ARGS)
$(call for_goals,grade update replay heat,FILE)
$(call for_goals,grade skeleton submit course labs-proof,LAB)
$(call for_goals,watch docs-record,PAGE)
$(call for_goals,fresh,DEBIAN MIRROR)
$(call for_goals,docs,SERVE)
$(call for_goals,programs,PROGRAMS)
$(call for_goals,test test-long,PYTEST PAPER HR_REQUIRE CRASH_LOG)
$(call for_goals,experiment%,QUICK FULL JOBS SNAKEMAKE EXPERIMENTS_OUT)
$(call for_goals,experiment-pacing experiment-mkeyed experiment-ddt,SCALE SET)
$(call for_goals,experiment-pacing experiment-mkeyed experiment-ddt experiment-beside experiment-balance contention limits,ROWS)
$(call for_goals,experiment-beside experiment-balance,SEEDS)
$(call for_goals,experiment-beside,STORE)
$(call for_goals,experiment-pacing,MIB)
$(call for_goals,experiment-pacing experiment-ddt,RUNS)
$(call for_goals,experiment-mkeyed,RECORDS)
$(call for_goals,experiment-ddt,STEPS)
$(call for_goals,experiment-psrset,WINDOW)
endif
# make takes the name of an existing folder for a goal that is up to date, so refuse it.  A quote or another special
# character in the name of a goal would change the commands of the recipes.
$(foreach g,$(filter-out kernel user docs,$(MAKECMDGOALS)),$(if $(wildcard $(g)/.),$(error $(g) is a folder, not a goal: \
    make help lists the goals)))
$(foreach c,' " ` ; & | < > $$,$(if $(findstring $(c),$(MAKECMDGOALS)$(TEST)),$(error $(firstword $(MAKECMDGOALS) \
    TEST=$(TEST)): the name of a goal or test cannot contain $(c): make help lists the goals)))
# A program that the user has named must exist.  The others are found in PATH, or installed.
$(foreach v,PYTHON CC HOSTCC MUSL_GCC,$(if $(filter command environment,$(firstword $(origin $(v)))),$(if \
    $(shell command -v '$(subst ','\'',$(firstword $($(v))))'),,$(error $(v)=$($(v)): there is no such program here))))
ifdef TOOLPREFIX
ifeq ($(shell command -v '$(subst ','\'',$(TOOLPREFIX))objcopy'),)
$(error TOOLPREFIX=$(TOOLPREFIX): there is no program $(TOOLPREFIX)objcopy here)
endif
endif
# For `make grade`, TEST is the name of a test.  It may be set in the environment when the grader asks for a lab-recipe.
FLAGS       := V WERROR QUICK FULL STORE SERVE $(if $(filter grade lab-recipe-%,$(MAKECMDGOALS)),,TEST)
$(foreach v,$(FLAGS),$(if $(filter-out 0 1,$($(v))),$(error $(v)=$($(v)): write 0 or 1)))
PROFILES    := core disk full
ifneq ($(origin PROFILE),command line)
PROFILE     := full
endif
ifneq ($(words $(filter $(PROFILES),$(PROFILE))),1)
$(error PROFILE=$(PROFILE): write one of $(PROFILES))
endif
ifneq ($(filter-out linux,$(PEER)),)
$(error PEER=$(PEER): there is only linux)
endif

# Without -j, run as many compilers at a time as the host has CPUs.  A make that this make starts shares its jobs.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS   += -j$(shell nproc 2>/dev/null || echo 2)
endif

# ---- one make at a time ------------------------------------------------------------------------
BUILDS      := clean kernel iso user user-tests dynamic openmp root peer fireplane refdisk host-tests lab-objects lab-kernel build/%
QUIET       := --no-print-directory $(if $(filter 1,$(V)),,-s)
build        = +$(Q)$(MAKE) $(QUIET) $(1)
ALONE       := $(if $(HR_ALONE)$(filter-out $(BUILDS),$(or $(MAKECMDGOALS),help)),,$(MAKECMDGOALS))
ifneq ($(ALONE),)
.PHONY: alone $(ALONE)
$(ALONE): alone ;
alone:
	+@tools/alone.sh $(MAKE) $(QUIET) $(ALONE)
else
# Several goals of which one runs something: one after the other, because each of them builds what it needs.
ifneq ($(word 2,$(MAKECMDGOALS)),)
ifneq ($(filter-out $(BUILDS),$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif
endif

B           := build$(addprefix /,$(filter-out full,$(PROFILE)))$(if $(filter 1,$(TEST)),/test)
Q           := $(if $(filter 1,$(V)),,@)
PYTHON      ?= python3
# Prefix for programs that start a make of their own: it must not use the job slots of this make.
APART       := env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL

# ---- tools -------------------------------------------------------------------------------------
# A cross compiler is needed only where the native compiler does not produce x86-64 ELF files (a Mac, an ARM laptop).
ifndef TOOLPREFIX
TOOLPREFIX  := $(shell if command -v x86_64-elf-gcc >/dev/null 2>&1; then echo x86_64-elf-; \
                 elif [ "$$(uname -sm)" = "Linux x86_64" ]; then :; \
                 elif command -v x86_64-linux-gnu-gcc >/dev/null 2>&1; then echo x86_64-linux-gnu-; fi)
endif
ifneq ($(filter default undefined,$(origin CC)),)
CC          := $(TOOLPREFIX)gcc
endif
OBJCOPY     := $(TOOLPREFIX)objcopy
NM          := $(TOOLPREFIX)nm
AR          := $(TOOLPREFIX)ar

# ---- kernel ------------------------------------------------------------------------------------
WARN        := -Wall -Wextra -Wconversion -Wno-sign-conversion -Wmissing-prototypes -Wno-unused-parameter
KINCLUDE    := -Ikernel -I. -Iinclude
KFLAGS      := -ffreestanding -mcmodel=kernel -mno-red-zone -mgeneral-regs-only -fno-pic -fno-pie \
               -fno-stack-protector -fno-strict-aliasing -fno-omit-frame-pointer -fno-asynchronous-unwind-tables \
               -fno-common -O2 -g $(if $(filter 1,$(TEST)),-DHR_TEST=1 $(UNDEFINED)) $(KCFLAGS)
# Undefined behaviour of C stops the test kernel: the compiler inserts an invalid instruction there, and the backtrace of
# that trap names the place.
UNDEFINED   := -fsanitize=signed-integer-overflow,shift-exponent,bounds,integer-divide-by-zero,unreachable,return,bool,enum,vla-bound \
               -fsanitize-undefined-trap-on-error
KCC         := $(CC) -std=gnu17 $(KFLAGS) $(WARN) $(KINCLUDE)
KLD         := $(CC) -nostdlib -static -Wl,--build-id=none -Wl,-z,max-page-size=4096 -Wl,-z,noexecstack

# kernel/*/stubs.c is for host tests only: they link one folder without the folders that use it.
KSRCS       := $(sort $(shell find kernel drivers boot \( -name '*.c' -o -name '*.S' \) ! -name stubs.c 2>/dev/null))
-include $(wildcard kernel/*/build.mk)
include kernel/profile.mk
KOBJS       := $(patsubst %,$(B)/obj/%.o,$(basename $(KSRCS))) $(KOBJS_EXTRA)

.PHONY: kernel
kernel: $(B)/kernel.elf ## the kernel alone (build/kernel.elf)

# All objects are rebuilt when the compiler or its flags change.  -Werror is not part of these flags: it changes no object.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(KCC)' | cmp -s - $@ || echo '$(KCC)' > $@

$(B)/obj/%.o: %.c $(B)/flags | deps
	@mkdir -p $(@D)
	@echo '  CC      $<'
	$(Q)$(KCC) $(if $(filter 1,$(WERROR)),-Werror) -MMD -MP -c -o $@ $<

$(B)/obj/%.o: %.S $(B)/flags | deps
	@mkdir -p $(@D)
	@echo '  AS      $<'
	$(Q)$(KCC) -MMD -MP -c -o $@ $<

# The kernel contains a table of its own function names, which backtraces print (section .ksyms).  So it is linked twice:
# the symbols of the first link fill the table of the second.  .ksyms is the last section, so filling it moves no
# function; the last comparison (cmp) checks this.
# $(call link_kernel,FOLDER,OBJECTS): make FOLDER/kernel.elf.
define link_kernel
	@echo '  LD      $(1)/kernel.elf'
	$(Q)$(PYTHON) tools/ksyms.py --empty > $(1)/ksyms0.S
	$(Q)$(KCC) -c -o $(1)/ksyms0.o $(1)/ksyms0.S
	$(Q)$(KLD) -T boot/kernel.ld -o $(1)/kernel.pass1 $(2) $(1)/ksyms0.o
	$(Q)$(NM) -n $(1)/kernel.pass1 | $(PYTHON) tools/ksyms.py > $(1)/ksyms.S
	$(Q)$(KCC) -c -o $(1)/ksyms.o $(1)/ksyms.S
	$(Q)$(KLD) -T boot/kernel.ld -Wl,-Map=$(1)/kernel.map -o $(1)/kernel.pass2 $(2) $(1)/ksyms.o
	$(Q)$(NM) -n $(1)/kernel.pass2 | $(PYTHON) tools/ksyms.py | cmp - $(1)/ksyms.S
	$(Q)mv $(1)/kernel.pass2 $(1)/kernel.elf
endef
$(B)/kernel.elf: $(KOBJS) boot/kernel.ld tools/ksyms.py
	$(call link_kernel,$(B),$(KOBJS))

# The kernel with a student's regions (tools/homeroom/course/boot.py).  From the environment: LAB_FILES, the files with regions,
# LAB_OBJECTS, what was compiled in place of them, and LAB_OUT, the folder for the kernel.
LAB_TREE    = $(filter-out $(LAB_FILES:%.c=$(B)/obj/%.o),$(KOBJS))
.PHONY: lab-objects lab-kernel
lab-objects: $(LAB_TREE) $(B)/flags $(B)/initramfs.cpio build/witness.so build/user/test/placed
	@echo '$(LAB_TREE)'
lab-kernel: $(LAB_TREE)
	$(call link_kernel,$(LAB_OUT),$(LAB_TREE) $(LAB_OBJECTS))

-include $(patsubst %.o,%.d,$(KOBJS))

# ---- everything else ---------------------------------------------------------------------------
include user/user.mk
-include tests/host/host.mk
include qemu/run.mk
include tools/experiments/experiments.mk

# Before anything is built, tools/deps.sh installs all packages that the goals need and that are missing.  If none is
# missing, this takes some milliseconds.  DEPS: the groups of tools/deps.txt to check.
# called GROUPS, GOALS: the groups, if one of the goals was given.
called      = $(if $(filter $(2),$(MAKECMDGOALS)),$(1))
GRADES      := grade submit course labs-proof sim-% lab-objects lab-kernel
DEPS        = $(if $(filter-out lint $(GRADES) docs,$(MAKECMDGOALS)),run) $(call called,test dynamic experiments,test test-long test-images docs-record) \
              $(call called,lint,lint) $(call called,docs,docs) $(call called,grade,$(GRADES)) \
              $(if $(filter SIMILAR,$(GIVEN)),similar) $(RUN_DEPS) $(EXPERIMENT_GROUPS)
.PHONY: deps
deps:
	@tools/deps.sh $(DEPS)

.PHONY: doctor
doctor: ## what is installed, what is missing, and the command that installs it
	@tools/doctor.sh

# What blocks of docs/ need: the disk that they boot from, if one does, and the programs that they make.
TRIED       = $(if $(call called,1,test-long docs-record),$(if $(shell grep -l 'console title=.make qemu-.*ROOT=ext' docs/*.md),root) \
              $(shell sed -n 's,^make \(build/host/[a-z-]*\)$$,\1,p' docs/*.md))

# PYTEST= is passed to pytest.  PAPER= names the text of the white paper, for the test of its program listing.
# Three tests run at a time: a machine often waits for its clock, so three of them keep two cores busy.
.PHONY: test test-long test-images
test-images: deps $(call called,page-there,docs-record)
	$(call build,TEST=1 iso build/boot/exit_at_once.iso)
	$(call build,TEST= iso $(if $(filter x86_64,$(shell uname -m)),dynamic openmp) fireplane refdisk $(UONDISK) $(TRIED))
MARKED_core := -m core
MARKED_disk := -m 'core or disk'
test: test-images ## the tests; PYTEST='-k memcopy tests/test_memcopy.py': some of them; PROFILE=core: those of that kernel
	$(Q)$(APART) HR_PROFILE=$(PROFILE) .venv/bin/pytest -n 3 --dist loadgroup $(MARKED_$(PROFILE)) $(PYTEST)

test-long: test-images ## the long tests, which `make test` leaves out
	$(Q)$(APART) .venv/bin/pytest -n 3 --dist loadgroup -m long $(PYTEST)

.PHONY: programs
programs: ## run Debian's programs on Homeroom, an hour at most: writes docs/results/programs.md; PROGRAMS='git redis': these again
	$(call build,iso)
	$(Q)$(APART) PYTHONPATH=tools $(PYTHON) -m homeroom.programs $$PROGRAMS

.PHONY: crash
crash: test-images ## 2,800 power cuts while several threads write; THREADS=multi: on two CPUs at the same time
	$(Q)CRASH_CUTS=2000 $(APART) .venv/bin/pytest -n 3 --dist loadgroup tests/test_crash.py -k company

.PHONY: fresh
fresh: ## the README's two commands in minimal Debian systems, as root and as a user; DEBIAN=12, 13 or sid: one release, all tests
	@$(APART) tools/fresh.sh

.PHONY: docs
docs: deps ## the book: build/docs/index.html, from docs/; SERVE=1: on http://127.0.0.1:8000
	$(Q)NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs $(if $(filter 1,$(SERVE)),serve -a 127.0.0.1:8000,build --strict --quiet)

.PHONY: docs-record
docs-record: test-images ## run the blocks of Try it, and write what they print into docs/; PAGE=docs/lgroups.md: of one page
	$(Q)$(APART) PYTHONPATH=tools $(PYTHON) -m homeroom.tryit $${PAGE:+"$$PAGE"}
.PHONY: page-there
page-there:
	@PYTHONPATH=tools $(PYTHON) -m homeroom.tryit --check $${PAGE:+"$$PAGE"}

.PHONY: generated
generated: deps ## what tools make for docs/ and is committed: figures of machines and layers, commands.md
	$(call build,user)
	$(Q)PYTHONPATH=tools $(PYTHON) -m homeroom.draw
	$(Q)PYTHONPATH=tools OBJCOPY=$(OBJCOPY) $(PYTHON) -m homeroom.manual

.PHONY: lint
lint: deps ## check style, layers, licence lines
	$(Q).venv/bin/python tools/lint.py

.PHONY: skeleton
skeleton: ## LAB=name: put what a student begins with into the kernel's files
	$(Q)PYTHONPATH=tools $(PYTHON) -m homeroom.course.skeleton "$$LAB"

# The tools of make course with their options, by the variable that is given.
COURSE_GIVEN = $(filter RELEASE SOLUTION UPDATE AUTOGRADER REGRADE SIMILAR,$(GIVEN))
COURSE_DOES  = $(if $(word 2,$(COURSE_GIVEN)),$(error make course does one thing: give one of $(COURSE_GIVEN)),$(or $(COURSE_GIVEN),RELEASE))
OF_TERM      = $${TERM_SEED:+--term "$$TERM_SEED"}
OF_SEED      = $${SEED:+--seed "$$SEED"}
course_RELEASE    = release "$$RELEASE" --labs "$$LABS" $${NOW:+--now "$$NOW"} $(OF_TERM)
course_SOLUTION   = solution "$$SOLUTION" --labs "$$LABS" $(OF_TERM)
course_UPDATE     = update "$$UPDATE" --labs "$$LABS" $${SOLVED:+--solved "$$SOLVED"} $(OF_TERM)
course_AUTOGRADER = autograder "$$AUTOGRADER" --lab "$$LAB" $(OF_SEED) $(OF_TERM)
course_REGRADE    = regrade "$$REGRADE" --lab "$$LAB" --csv "$$CSV" $(OF_SEED) $(OF_TERM)
course_SIMILAR    = similar "$$SIMILAR" --lab "$$LAB"
.PHONY: course
course: deps ## RELEASE=folder LABS=home,frames TERM_SEED=n: a student's tree, without the solutions; labs/INSTRUCTOR.md has the others
	$(Q)$(APART) PYTHONPATH=tools $(if $(SIMILAR),.venv-similar/bin/python,$(PYTHON)) -m homeroom.course.$(course_$(COURSE_DOES))

.PHONY: update
update: ## FILE=archive: add a later lab, which the instructor has sent, to a student's tree
	$(Q)PYTHONPATH=tools $(PYTHON) -m homeroom.course.update "$$FILE"

.PHONY: submit
submit: deps ## LAB=name TIME=hours: the file that a student hands in, build/submit/name.zip
	$(Q)$(APART) PYTHONPATH=tools $(PYTHON) -m homeroom.course.submit "$$LAB" $${TIME:+--hours "$$TIME"}

.PHONY: labs-proof
labs-proof: deps ## LAB=name, or all: what skeletons, solutions and wrong answers of the labs get, in all terms
	$(Q)$(APART) PYTHONPATH=tools $(PYTHON) -m homeroom.course.proof "$$LAB"

.PHONY: grade
grade: deps ## LAB=name: points per test, logs in build/grade/name; FILE=: another file; TEST=: one test
	$(Q)$(APART) PYTHONPATH=tools $(PYTHON) -m homeroom.course.grade "$$LAB" $${FILE:+--file "$$FILE"} $(if $(TEST),--test '$(TEST)') $${SEED:+--seed "$$SEED"} $${TERM_SEED:+--term "$$TERM_SEED"}

# A simulator runs the code of this tree in the grader's sandbox.  ARGS: its arguments.
SIMULATORS  := sim-home sim-clock sim-buddy sim-journal
.PHONY: $(SIMULATORS)
# sim-<name>: ## home clock buddy journal: a policy step by step; SEED=7 ARGS='--explain', '--exercise --answers', '--help'
$(SIMULATORS): sim-%: deps
	$(Q)$(APART) PYTHONPATH=tools $(PYTHON) -m homeroom.sim.$* $${SEED:+--seed "$$SEED"} $${TERM_SEED:+--term "$$TERM_SEED"} $$ARGS

# The lab "experiment": labs/experiment/README.md.
.PHONY: lab-predict lab-measure lab-report
lab-predict: deps ## the lab "experiment": check hypothesis.toml, and record its prediction
	$(Q)PYTHONPATH=tools $(PYTHON) -m homeroom.course.experiment predict
lab-measure: deps ## the lab "experiment": boot both columns with all seeds, and record the row
	$(Q)$(APART) PYTHONPATH=tools $(PYTHON) -m homeroom.course.experiment measure
lab-report: deps ## the lab "experiment": a draft of the report, with the row beside the prediction
	$(Q)PYTHONPATH=tools $(PYTHON) -m homeroom.course.experiment report

.PHONY: size
size: ## lines of code by folder for each PROFILE, and which parts could become optional
	$(call build,PROFILE=core kernel)
	@$(PYTHON) tools/size.py

.PHONY: clean
clean: ## remove everything that was built
	$(Q)rm -rf $(filter-out %.lock,$(wildcard build/* build/.[!.]*))

.PHONY: help
help: ## this list
	@sed -n 's/^#* *\([a-z0-9<>-]*\):.*## /\1\t/p' $(filter-out %.d,$(MAKEFILE_LIST)) | \
	    awk -F '\t' '{ printf "  make %-16s %s\n", $$1, $$2 }'
	@sed -n 's/^    //p' qemu/options.txt

FORCE:
endif
