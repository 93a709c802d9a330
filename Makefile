# SPDX-License-Identifier: MIT
# A thin front over meson and ninja: `make help` lists the targets.
BUILD ?= build
PREFIX ?= /usr/local
LIBDIR ?= lib
DESTDIR ?=
SAN ?=
WERROR ?=
V ?=
T ?=
B ?=
export PATH := $(PATH):/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin

# What `meson setup` is told. The same words are kept in the build directory, so that one made with others is made
# again; a directory that was set up by hand has no such note and keeps its options.
OPTIONS :=
BUILD_DIR := $(BUILD)
ifneq ($(filter-out 0,$(SAN)),)
BUILD_DIR := $(BUILD)-san
OPTIONS += -Ddebug=true -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false
endif
ifneq ($(filter-out 0,$(WERROR)),)
OPTIONS += --werror
endif
COMPILER := $(if $(filter default,$(origin CC)),,CC=$(CC))
NOTE := $(strip $(OPTIONS) $(COMPILER))
NINJA := ninja -C $(BUILD_DIR) $(if $(filter-out 0,$(V)),-v,--quiet)

.PHONY: all setup configure build run test soak bench fuzz install clean help
all: build

setup:
	@tools/setup

configure: setup
	@tools/configure '$(BUILD_DIR)' '$(NOTE)' $(OPTIONS)

build: configure
	@$(NINJA)

run: build
	@tools/demo $(BUILD_DIR)/bobbin

test: build
	@tools/run-tests '$(BUILD_DIR)' '$(T)' $(if $(filter-out 0,$(SAN)),san)

soak: build
	@tools/run-soak '$(BUILD_DIR)' '$(T)' $(if $(filter-out 0,$(SAN)),san)

bench: setup
	@tools/run-bench '$(B)'

fuzz: setup
	@tools/run-fuzz '$(T)'

# Nothing is compiled again for another PREFIX: no path is compiled in.
install: build
	@meson setup --reconfigure '$(BUILD_DIR)' --prefix '$(abspath $(PREFIX))' --libdir '$(LIBDIR)' >/dev/null
	@DESTDIR='$(if $(DESTDIR),$(abspath $(DESTDIR)))' meson install -C $(BUILD_DIR) --no-rebuild --quiet
	@if [ -z '$(DESTDIR)' ] && [ "$$(id -u)" = 0 ]; then ldconfig 2>/dev/null || true; fi

clean:
	@rm -rf build build-san build-bench build-fuzz

help:
	@cat tools/help.txt
