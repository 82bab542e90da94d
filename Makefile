# make             build everything into build/
# make demo        a whole experiment on simulated drives; says where the report lies
# make check       unit and end-to-end tests: no root, no hardware, no network
# make check-root  what needs root: kernel block devices through loop and FUSE
# make check-vm    whole machines that lose their power: guests, under QEMU
# make soak        the long tables through the real programs
# make torture     random configurations, judged by an independent oracle; COUNT, SEED
# make mutants     small soundness bugs, one at a time, each must be caught
# make bench       speed beside fio, dd and a bare loop; BENCH= goes to bench.py
# make bench-check instructions per write against those on record
# make tidy        format, sizes, include directions, promises, lists, man pages
# make install     DESTDIR and PREFIX are honoured; make uninstall takes it back
# make help        these lines
#
# CC=clang, SAN=address,undefined, WERROR=1, V=1 and O=DIR do what they say.

PROGRAMS := $(patsubst %/main.c,%,$(wildcard */main.c))
SAN      ?=
comma    := ,
O        ?= build$(if $(filter clang%,$(notdir $(CC))),-clang)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
BUILD    := $(O)
PREFIX   ?= /usr/local
DESTDIR  ?=
BINDIR   := $(DESTDIR)$(PREFIX)/bin
LIBDIR   := $(DESTDIR)$(PREFIX)/lib/plugpull
MANDIR   := $(DESTDIR)$(PREFIX)/share/man/man1
UNITDIR  := $(DESTDIR)$(PREFIX)/lib/systemd/system

WARN   := -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wundef -Wformat=2 \
          -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
          -Wpointer-arith -Wcast-qual -Wwrite-strings -Wconversion \
          -Wswitch-enum -Wnull-dereference $(if $(WERROR),-Werror) \
          $(if $(filter clang%,$(notdir $(CC))),-Wmissing-variable-declarations)
CFLAGS ?= -O2 -g
override CFLAGS += -std=c17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. -MMD -MP \
          -fPIC -pthread $(WARN) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)

# A writer for a rescue image is built with NBD=no SERIAL=no UDEV=no; only
# plugpull-relay needs the four libraries of boxes and pins.
pkg     = $(shell pkg-config --exists $(1) 2>/dev/null && echo yes)
NBD    ?= $(call pkg,libnbd)
SERIAL ?= $(call pkg,libserialport)
UDEV   ?= $(call pkg,libudev)
CURL   ?= $(call pkg,libcurl)
MODBUS ?= $(call pkg,libmodbus)
GPIOD  ?= $(call pkg,libgpiod)
SNMP   ?= $(call pkg,netsnmp)
ifeq ($(NBD),yes)
override CFLAGS += -DHAVE_LIBNBD
LIB_NBD := -lnbd
endif
ifeq ($(SERIAL),yes)
override CFLAGS += -DHAVE_LIBSERIALPORT
LIB_SERIAL := -lserialport
endif

ifeq ($(UDEV),yes)
override CFLAGS += -DHAVE_LIBUDEV
LIB_UDEV := -ludev
endif

ifeq ($(CURL),yes)
override CFLAGS += -DHAVE_LIBCURL
LIB_BOXES += -lcurl
endif
ifeq ($(MODBUS),yes)
override CFLAGS += -DHAVE_LIBMODBUS
LIB_BOXES += -lmodbus
endif
ifeq ($(GPIOD),yes)
override CFLAGS += -DHAVE_LIBGPIOD
LIB_BOXES += -lgpiod
endif
ifeq ($(SNMP),yes)
override CFLAGS += -DHAVE_NETSNMP
LIB_BOXES += -lnetsnmp
endif

LIBS_common    := -lcrypto
LIBS_target    := -laio -lblkid $(LIB_NBD) $(LIB_UDEV)
LIBS_net       := -lssl -lcrypto
LIBS_writer    := $(LIBS_target) $(LIBS_net) -ljansson
LIBS_collector := $(LIBS_net)
LIBS_agent     := $(LIBS_net)
LIBS_verifier  := $(LIBS_target) -ljansson
LIBS_relay     := $(LIB_SERIAL) $(LIB_BOXES) -linih -ljansson
LIBS_campaign  := -linih -ljansson -lm $(LIB_UDEV)
LIBS_simdrive  :=

COMMON_FOLDERS ?= $(wildcard common/*)
COMMON_SOURCES := $(filter-out common/target/target_nbd.c,$(wildcard $(COMMON_FOLDERS:%=%/*.c))) \
                  $(if $(filter yes,$(NBD)),$(if $(filter common/target,$(COMMON_FOLDERS)),common/target/target_nbd.c))
folder_sources = $(filter-out $(if $(filter yes,$(SERIAL)),,relay/port_serial.c) simdrive/plugin.c,$(wildcard $(1)/*.c))
objects  = $(patsubst %.c,$(BUILD)/%.o,$(1))
UNITS   := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
Q       := $(if $(V),,@)
LIBCOMMON := $(BUILD)/libcommon.a

.SECONDARY:
.DELETE_ON_ERROR:
.PHONY: all help units demo check check-root soak torture run-torture mutants tidy install uninstall fuzz deps
all: $(BUILD)/plugpull $(PROGRAMS:%=$(BUILD)/plugpull-%) $(patsubst simdrive/plugin.c,$(BUILD)/plugpull-simdrive-plugin.so,$(wildcard simdrive/plugin.c))

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC   $<")
	$(Q)$(CC) $(CFLAGS) -c $< -o $@

$(LIBCOMMON): $(call objects,$(COMMON_SOURCES))
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

define program
$(BUILD)/plugpull-$(1): $(call objects,$(call folder_sources,$(1))) $(LIBCOMMON)
	$$(if $$(Q),@echo "  LD   $$@")
	$$(Q)$$(CC) $$(CFLAGS) $$(LDFLAGS) $$(filter-out %.a,$$^) $(LIBCOMMON) $$(LIBS_$(1)) $$(LIBS_common) -o $$@
endef
$(foreach p,$(PROGRAMS),$(eval $(call program,$(p))))

$(BUILD)/plugpull: $(BUILD)/plugpull.o $(LIBCOMMON)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@

# nbdkit dlopens the plugin: it carries no sanitizer run-time of its own.
PLUGIN_SOURCES := simdrive/plugin.c $(filter-out simdrive/main.c,$(wildcard simdrive/*.c))
PLUGIN_OBJECTS := $(patsubst %.c,$(BUILD)/plugin/%.o,$(sort $(PLUGIN_SOURCES) $(wildcard common/base/*.c)))
$(BUILD)/plugin/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -fsanitize=%,$(CFLAGS)) -c $< -o $@
$(BUILD)/plugpull-simdrive-plugin.so: $(PLUGIN_OBJECTS)
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(CC) $(filter-out -fsanitize=%,$(CFLAGS)) -shared $^ -o $@

# Faults of the rig, preloaded by tests/e2e/inject-*.sh. Sanitized programs bring
# an allocator of their own.
INJECT_SOURCES := $(filter-out $(if $(SAN),tests/inject/inject_memory.c),$(wildcard tests/inject/*.c))
$(BUILD)/inject.so: $(patsubst %.c,$(BUILD)/plugin/%.o,$(INJECT_SOURCES))
	$(Q)$(CC) $(filter-out -fsanitize=%,$(CFLAGS)) -shared $^ -o $@

# test_foo links every module of the program folders but their main.c, so that
# it can be named after any of them; the folders' names never clash.
UNIT_LIBS := $(LIBS_target) $(LIBS_net) $(LIB_SERIAL) $(LIB_BOXES) -linih -ljansson -lm -lcmocka
$(BUILD)/tests/unit/test_%: $(BUILD)/tests/unit/test_%.o $(BUILD)/libunits.a $(LIBCOMMON)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $< $(BUILD)/libunits.a $(LIBCOMMON) $(UNIT_LIBS) $(LIBS_common) -o $@
UNIT_FOLDERS ?= $(PROGRAMS)
UNIT_SOURCES := $(filter-out %/main.c,$(foreach p,$(UNIT_FOLDERS),$(call folder_sources,$(p)))) $(wildcard tests/fake/*.c)
$(BUILD)/libunits.a: $(call objects,$(UNIT_SOURCES))
	$(Q)rm -f $@ && $(AR) rcs $@ $^
units: $(UNITS:%=$(BUILD)/tests/unit/%)

# Servers for the tests, by the libraries of others.
SERVERS := $(if $(filter yes,$(MODBUS)),$(BUILD)/rig/modbus_server)
$(BUILD)/rig/modbus_server: tests/rig/modbus_server.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $< -lmodbus -o $@

# ---- tests. Each first installs what it misses, and then starts over, so that
# pkg-config is asked again.
SCRIPTS := $(sort $(wildcard tests/e2e/*.sh))
E2E     := $(filter-out tests/e2e/lib.sh,$(SCRIPTS))
again    = $(MAKE) --no-print-directory
# Most tests wait more than they work.
JOBS    ?= $(shell expr 2 \* $$(nproc))
RUNNER  := BIN=$(BUILD) JOBS=$(JOBS) tests/run.sh
# How many calls of a kind fail in turn (tests/inject); POINTS= takes no end, and
# CI takes that.
POINTS  ?= 1

check:
	@tests/deps.sh build check
	@$(again) run-check
run-check: all units replay $(BUILD)/inject.so benches $(SERVERS)
	@$(RUNNER) unit $(UNITS:%=$(BUILD)/tests/unit/%)
	@$(RUNNER) replay $(wildcard tests/fuzz/replay.sh)
	@POINTS=$(POINTS) $(RUNNER) e2e $(E2E)

check-root:
	@tests/deps.sh build check root
	@$(again) run-check-root
run-check-root: all
	@JOBS=1 $(patsubst JOBS=%,,$(RUNNER)) root $(filter-out tests/kernel/rootlib.sh,$(sort $(wildcard tests/kernel/*.sh)))

# Guests of one processor each, and each test has one guest.
VM_LIBS := tests/vm/guest.sh tests/vm/matrix.sh
.PHONY: check-vm run-check-vm
check-vm:
	@tests/deps.sh build check vm
	@$(again) run-check-vm
run-check-vm: all
	@tests/vm/build $(BUILD)
	@JOBS=$${VM_JOBS:-2} TEST_TIMEOUT=540 $(patsubst JOBS=%,,$(RUNNER)) vm $(filter-out $(VM_LIBS),$(sort $(wildcard tests/vm/*.sh)))

soak:
	@tests/deps.sh build check
	@$(again) run-soak
run-soak: all
	@TEST_TIMEOUT=36000 $(patsubst JOBS=%,,$(RUNNER)) soak $(sort $(wildcard tests/soak/*.sh))

# The system's own, for which tests/deps.sh gets the modules.
PYTHON := $(firstword $(wildcard /usr/bin/python3) python3)
COUNT ?= 200
SEED  ?= 1
torture:
	@tests/deps.sh build check oracle
	@$(again) run-torture
run-torture: all
	$(PYTHON) tests/oracle/selftest.py
	$(PYTHON) tests/oracle/runs.py --bin $(BUILD) --count $(COUNT) --seed $(SEED) $(TORTURE)

mutants:
	@tests/deps.sh build check
	@$(again) run-mutants
run-mutants:
	@tests/mutants/mutants.sh

tidy:
	@tests/deps.sh tidy
	@tests/tidy/tidy.sh

# ---- speed. BENCH= takes options of bench.py, and NAME=VALUE for single cells.
BENCHES := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c))
.PHONY: benches bench run-bench bench-check run-bench-check
benches: $(BENCHES)
$(BUILD)/bench/%: $(BUILD)/tests/bench/%.o $(LIBCOMMON)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS_target) $(LIBS_net) $(LIBS_common) -o $@
bench:
	@tests/deps.sh build check bench
	@$(again) run-bench
run-bench: all benches
	$(PYTHON) tests/bench/bench.py --bin $(BUILD) $(BENCH)
bench-check:
	@tests/deps.sh build bench
	@$(again) run-bench-check
run-bench-check: all
	$(PYTHON) tests/bench/instructions.py --bin $(BUILD) --cc "$(CC)" $(BENCH)

demo:
	@tests/deps.sh build check
	@$(again) run-demo
run-demo: all
	@BIN=$(BUILD) tests/demo.sh

# ---- decoders: the same targets replay their corpora, and fuzz with clang.
FUZZERS := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
.PHONY: replay run-check run-check-root run-soak run-mutants run-demo
replay: $(FUZZERS:%=$(BUILD)/tests/fuzz/%-replay)
$(BUILD)/tests/fuzz/%-replay: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/replay.o $(LIBCOMMON)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS_common) -o $@
fuzz:
	@tests/deps.sh build clang
	@$(again) CC=clang SAN=fuzzer-no-link,address,undefined O=build-fuzz $(FUZZERS:%=build-fuzz/tests/fuzz/%)
build-fuzz/tests/fuzz/fuzz_%: build-fuzz/tests/fuzz/fuzz_%.o build-fuzz/libcommon.a
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer,address,undefined $^ $(LIBS_common) -o $@

# ---- installing
MANUALS := $(wildcard docs/man/*.1)
install: all
	install -d "$(BINDIR)" "$(LIBDIR)" "$(MANDIR)" "$(UNITDIR)"
	install -m 755 $(BUILD)/plugpull $(PROGRAMS:%=$(BUILD)/plugpull-%) "$(BINDIR)"
	install -m 644 $(BUILD)/plugpull-simdrive-plugin.so "$(LIBDIR)"
	install -m 644 $(MANUALS) "$(MANDIR)"
	sed 's|/usr/local|$(PREFIX)|' docs/examples/plugpull-agent.service > "$(UNITDIR)/plugpull-agent.service"
	chmod 644 "$(UNITDIR)/plugpull-agent.service"
uninstall:
	rm -f "$(BINDIR)/plugpull" $(PROGRAMS:%="$(BINDIR)/plugpull-%")
	rm -f "$(LIBDIR)/plugpull-simdrive-plugin.so"
	rm -f $(MANUALS:docs/man/%="$(MANDIR)/%")
	rm -f "$(UNITDIR)/plugpull-agent.service"
	-rmdir "$(LIBDIR)" 2>/dev/null

help:
	@sed -n '/^# make/,/^$$/s/^# \{0,1\}//p' Makefile

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
