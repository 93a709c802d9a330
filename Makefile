# SPDX-License-Identifier: MIT
# A thin front over meson and ninja: `make help` lists the targets.
BUILD ?= build
SAN ?=
ifneq ($(SAN),)
BUILD_DIR := $(BUILD)-san
SETUP_ARGS := -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debug -Doptimization=1
else
BUILD_DIR := $(BUILD)
SETUP_ARGS :=
endif
PREFIX ?= /usr/local
DESTDIR ?=
T ?=
B ?=

.PHONY: all setup build run test soak bench fuzz install clean help
all: build

setup:
	@tools/setup

$(BUILD_DIR)/build.ninja: meson.build meson_options.txt | setup
	@test -f $@ || meson setup $(BUILD_DIR) $(SETUP_ARGS) --prefix $(PREFIX) >/dev/null

build: setup $(BUILD_DIR)/build.ninja
	@ninja -C $(BUILD_DIR) $(if $(V),,--quiet)

run: build
	@tools/demo $(BUILD_DIR)/bobbin

test: build
	@tools/run-tests $(BUILD_DIR) '$(T)' $(if $(SAN),san)

soak: build
	@tools/run-soak $(BUILD_DIR)

bench: setup
	@tools/run-bench '$(B)'

fuzz: setup
	@tools/run-fuzz '$(T)'

install: build
	@DESTDIR=$(DESTDIR) meson configure $(BUILD_DIR) --prefix $(PREFIX) && DESTDIR=$(DESTDIR) meson install -C $(BUILD_DIR) --quiet

clean:
	@rm -rf build build-san build-bench build-fuzz

help:
	@sed -n 's/^  //p' tools/help.txt
