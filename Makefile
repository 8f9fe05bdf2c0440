# The extension, built by PGXS. The client library and the unit tests are CMake's (CMakeLists.txt).
#
#   make                       build scylla.so and the install script
#   make install               into the PostgreSQL that pg_config names (DESTDIR works)
#   make WERROR=1              warnings are errors, as in CI
#   make PCH=1                 what files begin with is compiled once, and a debugger is told less: two thirds of the time, but nothing for
#                              ccache to share
#   make QUICK=1               not optimised, and some rooms as one file each, for tests: with PCH=1 a fifth of the time
#   make CXX=clang++           another compiler than the server's
#   make PG_CONFIG=/path/...   another server
#   make deb                   Debian packages, in .build/deb
#   make dist                  an archive for PGXN, in .build/dist
EXTENSION = scylla
EXTVERSION = 0.2
MODULE_big = scylla
OBJS = $(THROWING) $(patsubst %.cpp,%.o,$(sort $(wildcard src/*.cpp src/*/*.cpp)))
# These rooms throw inside their walls, and never call the server.
THROWING = $(if $(QUICK),$(addprefix .build/rooms/,sel.o workflow.o),$(patsubst %.cpp,%.o,$(sort $(wildcard src/model/*/*.cpp))))

# One file per concept, in the order in which they depend on each other: what is made once, and what an update replaces.
TABLES = $(addprefix sql/,preamble.sql tables.sql schedule.sql $(NEW_TABLES))
NEW_TABLES = condition.sql trigger.sql pool.sql copy.sql job.sql workflow.sql workflow_state.sql workflow_action.sql workflow_hold.sql workflow_event.sql job_template.sql backfill.sql memo.sql task_check.sql # since the version before
REPLACED = $(addprefix sql/,functions/internal.sql functions/rights.sql task.sql schedules.sql functions/queue.sql \
	functions/events.sql functions/submit.sql functions/lease.sql functions/heartbeat.sql functions/finish.sql \
	functions/release.sql functions/change.sql functions/defer.sql functions/resubmit.sql functions/query.sql functions/find.sql functions/plan.sql functions/wait.sql functions/work.sql functions/schedule.sql \
	functions/condition.sql functions/trigger.sql functions/pool.sql functions/job.sql functions/expression.sql functions/workflow.sql functions/job_template.sql functions/workflow_run.sql functions/workflow_action.sql functions/workflow_hold.sql functions/workflow_events.sql functions/run_view.sql functions/backfill.sql functions/maintain.sql conditions.sql triggers.sql pools.sql jobs.sql workflows.sql job_templates.sql workflow_runs.sql workflow_actions.sql workflow_holds.sql workflow_history.sql backfills.sql resubmissions.sql plan.sql plan_task.sql functions/plan_pictures.sql stat.sql metrics.sql check.sql privileges.sql)
CREATE_SCRIPT = sql/scylla--$(EXTVERSION).sql
# From the version before. Those of versions that have been released are files of their own, as are their install scripts.
UPDATE_SCRIPT = sql/scylla--0.1--$(EXTVERSION).sql
UPDATE_PARTS = $(addprefix sql/,upgrade/0.1--$(EXTVERSION).sql $(NEW_TABLES)) $(REPLACED) sql/upgrade/0.1--$(EXTVERSION)-after.sql
DATA_built = $(CREATE_SCRIPT) $(UPDATE_SCRIPT)
DATA = $(filter-out $(DATA_built),$(wildcard sql/scylla--*.sql))

override with_llvm := no # our functions run scans and SPI: nothing there for the JIT to inline

PG_CONFIG ?= pg_config
ifeq ($(shell command -v $(PG_CONFIG)),)
$(error $(PG_CONFIG) was not found: install the development files of the server (Debian: postgresql-server-dev-NN, Red Hat: postgresqlNN-devel), or say where it is: make PG_CONFIG=/path/to/pg_config)
endif
PG_MAJOR := $(shell $(PG_CONFIG) --version | sed -E 's/[^0-9]*([0-9]+).*/\1/')
ifneq ($(filter-out 15 16 17 18,$(PG_MAJOR)),)
$(error scylla supports PostgreSQL 15 to 18; $(PG_CONFIG) is $(PG_MAJOR))
endif

# clang is given the server's own options, which may be g++'s, and looks into the server's macros, which are C.
clang_warnings = -Wno-unknown-warning-option -Wno-gnu-statement-expression -Wno-c99-extensions
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wold-style-cast -Wconversion -Wno-sign-conversion \
	$(if $(findstring clang,$(CXX)),$(clang_warnings)) $(if $(WERROR),-Werror)
PG_CPPFLAGS = -isystem $(shell $(PG_CONFIG) --includedir-server) -Isrc -DSCYLLA_VERSION='"$(EXTVERSION)"' \
	-DPGDLLEXPORT='__attribute__((visibility("default")))'
PG_CXXFLAGS = -std=c++20 -fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden \
	-fvisibility-inlines-hidden $(WARNINGS) $(if $(QUICK),-O0 -g0 -Wno-cpp,$(if $(PCH),-g1)) -MMD -MP
SHLIB_LINK += -lstdc++

EXTRA_CLEAN = $(OBJS:.o=.d) $(PRECOMPILED) .build/rooms

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

$(THROWING): override CXXFLAGS += -fexceptions

ifdef QUICK
$(THROWING:.o=.cpp): $(wildcard src/model/*/*.cpp) Makefile
	mkdir -p $(@D)
	printf '#include "%s"\n' $(patsubst src/%,%,$(sort $(wildcard src/model/$(basename $(@F))/*.cpp))) > $@
endif

# With PCH=1. Each file has its own includes all the same: all that call the server begin with that one. With QUICK=1 there are more.
PRECOMPILED = .build/precompiled
ifdef PCH
CALLING = $(filter-out src/model/% .build/%,$(OBJS))
$(CALLING): $(PRECOMPILED)/calling.h.gch
$(CALLING): override CXXFLAGS += -include $(PRECOMPILED)/calling.h
OFTEN_INCLUDED = $(addprefix pg/,error.h json.h memory.h settings.h text.h) $(addprefix task/,gates.h open.h rights.h rules.h) \
	$(addprefix api/,call.h rows.h) shmem/pending.h store/spi_rows.h
INCLUDED = "pg/prelude.h" $(if $(QUICK),$(patsubst %,"%",$(OFTEN_INCLUDED)))
# Not CXXFLAGS itself: a header inherits that of the file for which it is made.
HEADER_CXXFLAGS := $(CXXFLAGS)
$(PRECOMPILED)/calling.h.gch: Makefile
	mkdir -p $(@D)
	printf '#include %s\n' $(foreach name,$(INCLUDED),'$(name)') > $(basename $@)
	$(CXX) $(HEADER_CXXFLAGS) $(CPPFLAGS) -x c++-header -c -o $@ $(basename $@)
endif

$(CREATE_SCRIPT): $(TABLES) $(REPLACED) Makefile
	cat $(TABLES) $(REPLACED) > $@

$(UPDATE_SCRIPT): $(UPDATE_PARTS) Makefile
	cat $(UPDATE_PARTS) > $@

DEB = .build/deb
.PHONY: deb dist
deb:
	packaging/make-deb $(PG_MAJOR) $(DEB)

# Of what has been committed; DIST_TREE=… takes another commit.
DIST_TREE = HEAD
DIST_NAME := scylla-$(shell sed -n 's/^ *"version": "\([^"]*\)",$$/\1/p' META.json | head -n 1)
dist:
	mkdir -p .build/dist
	git archive --format=zip --prefix=$(DIST_NAME)/ -o .build/dist/$(DIST_NAME).zip $(DIST_TREE)
	@ls .build/dist/$(DIST_NAME).zip

-include $(OBJS:.o=.d) $(wildcard $(PRECOMPILED)/*.d)
