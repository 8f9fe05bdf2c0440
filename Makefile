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
#   make statements           only the C++ that is made of SQL, for an editor or clang-tidy
#   make deb                   Debian packages, in .build/deb
#   make client-packages       the Python wheel and the npm package, in .build/clients
#   make images                container images, with podman or docker: IMAGES="18 19" for these servers, VOLUMES="18" only the extension,
#                              for CloudNativePG, IMAGE=… their name
#   make dist                  an archive for PGXN, in .build/dist
EXTENSION = scylla
EXTVERSION = 0.2
MODULE_big = scylla
OBJS = $(THROWING) $(patsubst %.cpp,%.o,$(sort $(wildcard src/*.cpp src/*/*.cpp)) $(STATEMENTS))
# These rooms throw inside their walls, and never call the server.
THROWING = $(if $(QUICK),$(addprefix .build/rooms/,sel.o workflow.o),$(patsubst %.cpp,%.o,$(sort $(wildcard src/model/*/*.cpp))))

# C++ made of the statements in src/store/SUBJECT/*.sql, in .build/store/SUBJECT (src/store/README.md, "Statements").
STATEMENTS = $(patsubst src/%.sql,.build/%.cpp,$(sort $(filter-out %/shared.sql,$(wildcard src/store/*/*.sql))))

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
ifneq ($(filter-out 15 16 17 18 19,$(PG_MAJOR)),)
$(error scylla supports PostgreSQL 15 to 19; $(PG_CONFIG) is $(PG_MAJOR))
endif

# clang is given the server's own options, which may be g++'s, and looks into the server's macros, which are C.
clang_warnings = -Wno-unknown-warning-option -Wno-gnu-statement-expression -Wno-c99-extensions
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wold-style-cast -Wconversion -Wno-sign-conversion \
	$(if $(findstring clang,$(CXX)),$(clang_warnings)) $(if $(WERROR),-Werror)
PG_CPPFLAGS = -isystem $(shell $(PG_CONFIG) --includedir-server) -Isrc -I.build -DSCYLLA_VERSION='"$(EXTVERSION)"' \
	-DPGDLLEXPORT='__attribute__((visibility("default")))'
PG_CXXFLAGS = -std=c++20 -fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden \
	-fvisibility-inlines-hidden $(WARNINGS) $(if $(QUICK),-O0 -g0 -Wno-cpp -D_GLIBCXX_ASSERTIONS,$(if $(PCH),-g1)) -MMD -MP
SHLIB_LINK += -lstdc++

EXTRA_CLEAN = $(OBJS:.o=.d) $(PRECOMPILED) .build/rooms .build/store .build/api

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

$(THROWING): override CXXFLAGS += -fexceptions

# The header stays as it is while only the text of a statement changes, so that what includes it is not compiled again.
$(STATEMENTS): .build/%.cpp: src/%.sql src/store/statements.pl $(wildcard src/store/shared.sql src/store/*/shared.sql)
	@mkdir -p $(@D)
	$(PERL) src/store/statements.pl --header $< > $(@:.cpp=.h.new)
	cmp -s $(@:.cpp=.h.new) $(@:.cpp=.h) || cp $(@:.cpp=.h.new) $(@:.cpp=.h)
	$(PERL) src/store/statements.pl --source $< > $@.new
	mv $@.new $@
$(STATEMENTS:.cpp=.h): %.h: %.cpp
	@:

# The arguments of functions by name, made of their signatures.
ARGUMENTS = .build/api/arguments.h
SIGNATURES = $(sort $(wildcard sql/functions/*.sql)) $(filter-out sql/scylla--%,$(sort $(wildcard sql/*.sql)))
.build/api/arguments: $(SIGNATURES) src/api/arguments.pl
	@mkdir -p $(@D)
	$(PERL) src/api/arguments.pl $(SIGNATURES) > $@.new
	cmp -s $@.new $(ARGUMENTS) || cp $@.new $(ARGUMENTS)
	mv $@.new $@
$(ARGUMENTS): .build/api/arguments
	@:

# What includes which header is known when it has been compiled once.
$(filter-out $(THROWING),$(OBJS)): | $(STATEMENTS:.cpp=.h) $(ARGUMENTS)
.PHONY: statements
statements: $(STATEMENTS:.cpp=.h) $(ARGUMENTS)

ifdef QUICK
$(THROWING:.o=.cpp): $(wildcard src/model/*/*.cpp) Makefile
	mkdir -p $(@D)
	printf '#include "%s"\n' $(patsubst src/%,%,$(sort $(wildcard src/model/$(basename $(@F))/*.cpp))) > $@
endif

# With PCH=1. Each file has its own includes all the same: all that call the server begin with that one. With QUICK=1 there are more.
PRECOMPILED = .build/precompiled
ifdef PCH
CALLING = $(filter-out $(THROWING),$(OBJS))
$(CALLING): $(PRECOMPILED)/calling.h.gch
$(CALLING): override CXXFLAGS += -include $(PRECOMPILED)/calling.h
OFTEN_INCLUDED = $(addprefix pg/,error.h json.h memory.h settings.h text.h) $(addprefix task/,gates.h open.h rights.h rules.h) \
	$(addprefix api/,call.h rows.h) shmem/pending.h store/statement.h
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

# For those who change it (CONTRIBUTING.md).
.PHONY: check format
check:
	test/run
format:
	find src client test -name '*.cpp' -o -name '*.h' | xargs clang-format-14 -i

DEB = .build/deb
.PHONY: deb dist images client-packages
deb:
	packaging/make-deb $(PG_MAJOR) $(DEB)

# From copies: both tools write into the folders that they pack.
client-packages:
	rm -rf .build/clients && mkdir -p .build/clients/source
	cp -r client/python client/node .build/clients/source
	cd .build/clients && python3 -m build --wheel --no-isolation --outdir . source/python
	cd .build/clients && npm pack --silent ./source/node
	rm -rf .build/clients/source

# The servers of the images, and of the images that have nothing but the extension.
IMAGES = 15 16 17 18 19
VOLUMES = 18 19
IMAGE = pgscylla
CONTAINERS = $(or $(shell command -v podman),$(shell command -v docker),$(error neither podman nor docker is here))
build_image = $(CONTAINERS) build -f packaging/Containerfile --build-arg PG_MAJOR=$(1) -t $(IMAGE):$(EXTVERSION)-pg$(1)$(2) .
images:
	$(foreach major,$(IMAGES),$(call build_image,$(major)) &&) true
	$(foreach major,$(VOLUMES),$(call build_image,$(major),-volume --target volume) &&) true

# Of what has been committed; DIST_TREE=… takes another commit.
DIST_TREE = HEAD
DIST_NAME := scylla-$(shell sed -n 's/^ *"version": "\([^"]*\)",$$/\1/p' META.json | head -n 1)
dist:
	mkdir -p .build/dist
	git archive --format=zip --prefix=$(DIST_NAME)/ -o .build/dist/$(DIST_NAME).zip $(DIST_TREE)
	@ls .build/dist/$(DIST_NAME).zip

-include $(OBJS:.o=.d) $(wildcard $(PRECOMPILED)/*.d)
