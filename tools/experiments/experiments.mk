# SPDX-License-Identifier: MIT
#
# experiments.mk - the paper's tables, and the live view.
#
# VARIABLES   JOBS=1      so many runs at once (default: as many as there are CPUs, and memory for)
#             QUICK=1     the rows marked quick, once each; of experiment-fabric: no changed parameters
#             FULL=1      the rows' hypotheses as well
#             PEER=linux  the same on Linux as well
#             SNAKEMAKE='--profile slurm'  arguments for Snakemake
#             SCALE=4 MIB=64 RUNS=3 ROWS='17/8 auto'  of experiment-pacing
#             SCALE=40 ROWS=batch RECORDS=3500  of experiment-mkeyed
#             SCALE=8 ROWS='policy0 policy2' STEPS='0.8 1.2' JOBS=2 RUNS=3 FULL=1  of experiment-ddt; FULL=1: other times of
#                         computing, and 64 MiB of memory
#             SET='disk_sched=2'  more settings, of these three
#             SEEDS=3 ROWS='stream ddt' STORE=1  of experiment-beside; STORE=1 keeps Linux's figures in the project
#             WINDOW=10  seconds counted in each step of experiment-psrset
# SEE ALSO    docs/experiments.md, tools/experiments/paper.toml (the rows), tools/experiments/Snakefile

JOBS        ?= $(shell nproc 2>/dev/null || echo 2)
EXPERIMENTS := $(APART) PYTHONPATH=tools .venv-experiments/bin/python -m homeroom.experiments
SWEEP       := $(EXPERIMENTS) sweep --snakemake='-j$(JOBS) $(SNAKEMAKE)' $(if $(filter 1,$(QUICK)),--quick) \
               $(if $(filter 1,$(FULL)),--full) \
               $(if $(PEER),--peer '$(PEER)')

ifeq ($(if $(filter command,$(origin JOBS)),$(shell expr '$(JOBS)' : '[1-9][0-9]*$$')),0)
$(error JOBS=$(JOBS): write a number from 1)
endif

# What tools/deps.sh installs for the commands of this file.
EXPERIMENT_GROUPS = $(call called,experiments,experiments experiment-% watch) \
              $(call called,dynamic,experiment-psrset) $(call called,refdisk,$(DISK_EXPERIMENTS) experiment-beside)

# Before they are used: the names, then what is built.
.PHONY: experiments experiment-list experiments-named watch experiment-names experiment-images
experiment-names:
	@! command -v $(PYTHON) >/dev/null || PYTHONPATH=tools $(PYTHON) -m homeroom.experiments list $(NAMED:%=--name '%') >/dev/null
experiment-images: experiment-names
	@tools/deps.sh $(DEPS)
	$(call build,$(ISO) $(FIREPLANE) $(OPENMP) $(if $(PEER),peer))
experiments: experiment-images ## every table of the paper, ours beside it: build/experiments/report.html
	@$(SWEEP)
# experiment-<name>: ## one of them; `make experiment-list` lists the names
experiment-list: deps
	@$(EXPERIMENTS) list
# Those with disks are programs of their own.
DISK_EXPERIMENTS := experiment-idedma experiment-pacing experiment-mkeyed experiment-ddt
.PHONY: $(DISK_EXPERIMENTS)
$(DISK_EXPERIMENTS): deps ## disks: docs/disks.md
	$(call build,$(ISO) $(UONDISK) $(REFDISK))
	@$(APART) PYTHONPATH=tools .venv-experiments/bin/python -m homeroom.experiments.$(@:experiment-%=%)
# Linux is wanted, but it comes from the network: without it the page shows stored figures.
.PHONY: experiment-beside
experiment-beside: deps ## the same work on Homeroom and on Linux: writes docs/results/beside.md
	@tools/deps.sh peer || true
	+@[ ! -s build/peer/modules.cpio ] || $(MAKE) $(QUIET) peer
	$(call build,$(ISO) $(UONDISK) $(REFDISK))
	@$(APART) PYTHONPATH=tools .venv-experiments/bin/python -m homeroom.experiments.beside
.PHONY: experiment-fabric
experiment-fabric: deps ## each latency and rate of the model alone, beside what its parameters say: docs/fireplane.md
	$(call build,$(ISO) $(FIREPLANE))
	@$(APART) PYTHONPATH=tools .venv-experiments/bin/python -m homeroom.experiments.fabric
.PHONY: experiment-psrset
experiment-psrset: deps ## iperf outside and inside a processor set: docs/psets.md
	$(call build,$(ISO) $(DYNAMIC))
	@$(APART) PYTHONPATH=tools .venv-experiments/bin/python -m homeroom.experiments.psrset
# All that are named in one call are one sweep: they share runs, and the report has them all.
NAMED := $(patsubst experiment-%,%,$(filter-out experiment-list experiment-fabric experiment-psrset experiment-beside $(DISK_EXPERIMENTS), \
         $(filter experiment-%,$(MAKECMDGOALS))))
experiment-%: $(if $(filter experiments,$(MAKECMDGOALS)),experiments,experiments-named) ;
experiments-named: experiment-images
	@$(SWEEP) $(foreach name,$(NAMED),--name '$(name)')

watch: deps ## while a guest runs with MODEL=fireplane: its boards, each second (PAGE=file)
	@PYTHONPATH=tools .venv-experiments/bin/python -m homeroom.watch $${PAGE:+"$$PAGE"}
