# SPDX-License-Identifier: MIT
#
# experiments.mk - the experiments: the tables of papers, measured again on Homeroom, and the live view of a machine.
#
# VARIABLES   JOBS=1      number of runs at a time (default: as many as the host has CPUs, and memory for)
#             QUICK=1     only the experiments marked quick, once each; experiment-fabric: without changed parameters
#             FULL=1      also the hypotheses of each experiment, and the experiments marked full
#             PEER=linux  also run the benchmarks on Linux
#             SNAKEMAKE='--profile slurm'  arguments for Snakemake
#             for one experiment only:
#             SCALE=4 MIB=64 RUNS=3 ROWS='17/8 auto'  experiment-pacing
#             SCALE=40 ROWS=batch RECORDS=3500  experiment-mkeyed
#             SCALE=8 ROWS='policy0 policy2' STEPS='0.8 1.2' JOBS=2 RUNS=3 FULL=1  experiment-ddt; FULL=1: also with other
#                         times of computing, and with 64 MiB of memory
#             SET='disk_sched=2'  more /etc/system settings, for these three
#             SEEDS=3 ROWS='stream ddt' STORE=1  experiment-beside; STORE=1 stores Linux's figures in the project
#             SEEDS=3 ROWS='init hot'  experiment-balance; PEER=linux: also on Linux
#             ROWS='map protect'  contention: these rows, and no page
#             ROWS='threads locks'  limits: these cases, and no page
#             WINDOW=10  experiment-psrset: seconds that are counted in each step
# SEE ALSO    docs/experiments.md, tools/experiments/paper.toml (the rows), tools/experiments/Snakefile

JOBS        ?= $(shell nproc 2>/dev/null || echo 2)
EXPERIMENTS := $(APART) PYTHONPATH=tools .venv-experiments/bin/python -m homeroom.experiments
SWEEP       := $(EXPERIMENTS) sweep --snakemake='-j$(JOBS) $(SNAKEMAKE)' $(if $(filter 1,$(QUICK)),--quick) \
               $(if $(filter 1,$(FULL)),--full) \
               $(if $(PEER),--peer '$(PEER)')

ifeq ($(if $(filter command,$(origin JOBS)),$(shell expr '$(JOBS)' : '[1-9][0-9]*$$')),0)
$(error JOBS=$(JOBS): write a number from 1)
endif

# The groups of tools/deps.txt that the commands of this file need.
EXPERIMENT_GROUPS = $(call called,experiments,experiments experiment-% watch) \
              $(call called,dynamic,experiment-psrset) $(call called,refdisk,$(DISK_EXPERIMENTS) experiment-beside)

# experiment-names stops if a name is wrong, before experiment-images builds what the runs need.
.PHONY: experiments experiment-list experiments-named watch experiment-names experiment-images
experiment-names:
	@! command -v $(PYTHON) >/dev/null || PYTHONPATH=tools $(PYTHON) -m homeroom.experiments list $(NAMED:%=--name '%') >/dev/null
experiment-images: experiment-names
	@tools/deps.sh $(DEPS)
	$(call build,$(ISO) $(FIREPLANE) $(OPENMP) $(if $(PEER),peer))
experiments: experiment-images ## measure every table of the paper, and compare: build/experiments/report.html
	@$(SWEEP)
# experiment-<name>: ## one of them; `make experiment-list` lists the names
experiment-list: deps
	@$(EXPERIMENTS) list
# The experiments with disks are separate programs.
DISK_EXPERIMENTS := experiment-idedma experiment-pacing experiment-mkeyed experiment-ddt
.PHONY: $(DISK_EXPERIMENTS)
$(DISK_EXPERIMENTS): deps ## disks: docs/disks.md
	$(call build,$(ISO) $(UONDISK) $(REFDISK))
	@$(APART) PYTHONPATH=tools .venv-experiments/bin/python -m homeroom.experiments.$(@:experiment-%=%)
# Linux's kernel is downloaded.  If that fails, the page shows stored figures for Linux.
.PHONY: experiment-beside
experiment-beside: deps ## the same work on Homeroom and on Linux: writes docs/results/beside.md
	@tools/deps.sh peer || true
	+@[ ! -s build/peer/modules.cpio ] || $(MAKE) $(QUIET) peer
	$(call build,$(ISO) $(UONDISK) $(REFDISK))
	@$(APART) PYTHONPATH=tools .venv-experiments/bin/python -m homeroom.experiments.beside
# Only the standard library of Python is needed.
.PHONY: contention
contention: deps ## threads that contend in the kernel, on Homeroom and on Linux: writes docs/results/contention.md
	$(call build,$(ISO) peer)
	@$(APART) PYTHONPATH=tools $(PYTHON) -m homeroom.experiments.contention
.PHONY: limits
limits: deps ## the cost of operations while there are many threads, mappings, names, CPUs: writes docs/results/limits.md
	$(call build,$(ISO))
	@$(APART) PYTHONPATH=tools $(PYTHON) -m homeroom.experiments.limits
# Only the standard library of Python is needed.  Linux's kernel is downloaded.
.PHONY: experiment-balance
experiment-balance: deps ## pages and threads that move because of sampled touches: writes docs/results/balance.md
	$(call build,$(ISO) $(FIREPLANE) $(if $(PEER),peer))
	@$(APART) PYTHONPATH=tools $(PYTHON) -m homeroom.experiments.balance
.PHONY: experiment-fabric
experiment-fabric: deps ## measure each latency and rate of the model, and compare with its parameters: docs/fireplane.md
	$(call build,$(ISO) $(FIREPLANE))
	@$(APART) PYTHONPATH=tools .venv-experiments/bin/python -m homeroom.experiments.fabric
.PHONY: experiment-heat
experiment-heat: deps ## page heat: how far its counts are off, what it costs, a picture of pages: docs/heat.md
	$(call build,$(ISO) $(FIREPLANE))
	@$(APART) PYTHONPATH=tools .venv-experiments/bin/python -m homeroom.experiments.heat
.PHONY: experiment-psrset
experiment-psrset: deps ## iperf outside and inside a processor set: docs/psets.md
	$(call build,$(ISO) $(DYNAMIC))
	@$(APART) PYTHONPATH=tools .venv-experiments/bin/python -m homeroom.experiments.psrset
# All experiments that one call of make names are one sweep: they share runs, and one report shows them all.
NAMED := $(patsubst experiment-%,%,$(filter-out experiment-list experiment-fabric experiment-heat experiment-psrset experiment-beside experiment-balance $(DISK_EXPERIMENTS), \
         $(filter experiment-%,$(MAKECMDGOALS))))
experiment-%: $(if $(filter experiments,$(MAKECMDGOALS)),experiments,experiments-named) ;
experiments-named: experiment-images
	@$(SWEEP) $(foreach name,$(NAMED),--name '$(name)')

watch: deps ## show the boards of a guest that runs with MODEL=fireplane, every second (PAGE=file)
	@PYTHONPATH=tools .venv-experiments/bin/python -m homeroom.watch $${PAGE:+"$$PAGE"}
