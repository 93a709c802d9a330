#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calls that must not be made, each with what to call instead."""
import tree

EVERYWHERE = {
    "sprintf": "buffer_addf or snprintf", "vsprintf": "buffer_addf or vsnprintf",
    "strcpy": "buffer_add_text or memcpy", "stpcpy": "buffer_add_text or memcpy",
    "strcat": "buffer_add_text", "strncpy": "memcpy with a checked length",
    "strncat": "buffer_add", "gets": "fgets or getline", "alloca": "an arena",
    "strtok": "struct slice and memchr", "strtok_r": "struct slice and memchr",
    "atoi": "strtoll with its errors checked", "atol": "strtoll with its errors checked",
    "atoll": "strtoll with its errors checked", "atof": "strtod with its errors checked",
    "scanf": "json_parse or strtoll", "fscanf": "json_parse or strtoll", "sscanf": "json_parse or strtoll",
    "system": "fork and execv", "popen": "fork and execv",
    "localtime": "time_text", "gmtime": "time_text", "ctime": "time_text", "asctime": "time_text",
    "localtime_r": "time_text (UTC)", "mktime": "timegm",
    "rand": "platform->random", "srand": "platform->random", "random": "platform->random",
    "drand48": "platform->random", "rand_r": "a seeded generator of your own",
    "tmpnam": "mkdtemp", "tempnam": "mkdtemp", "mktemp": "mkdtemp",
    "setjmp": "error codes", "longjmp": "error codes",
}
LIBRARY = {
    "printf": "struct bobbin_error", "fprintf": "struct bobbin_error", "vfprintf": "struct bobbin_error",
    "puts": "struct bobbin_error", "fputs": "struct bobbin_error", "putchar": "struct bobbin_error",
    "strerror": "error_set_os (another thread may change its text)", "perror": "error_set_os", "syslog": "struct bobbin_error",
    "exit": "an error code", "_exit": "an error code", "abort": "an error code, or assert for a bug",
    "signal": "nothing: signals belong to the host", "sigaction": "nothing: signals belong to the host",
    "setlocale": "nothing: the locale belongs to the host", "setenv": "nothing: the environment belongs to the host",
    "pthread_create": "nothing: threads belong to the host", "fork": "nothing: processes belong to the host",
    "malloc": "mem_alloc", "calloc": "mem_alloc_zero", "realloc": "mem_realloc", "free": "mem_free",
    "strdup": "mem_copy_text", "strndup": "mem_copy_text", "asprintf": "buffer_addf", "vasprintf": "buffer_addf",
}
ALLOWED = {("src/base/alloc.c", name) for name in ("malloc", "calloc", "realloc", "free")}


def banned(files):
    for path, text in files.items():
        table = EVERYWHERE if tree.is_program(path, text) else {**EVERYWHERE, **LIBRARY}
        for line, name in tree.calls(text, table):
            if (path, name) not in ALLOWED:
                yield f"{path}:{line}: {name}() is banned: use {table[name]}"


tap = tree.Tap()
for name, instead in {**EVERYWHERE, **LIBRARY}.items():
    complaints = list(banned({"src/store/a.c": f"void f(void)\n{{\n\t{name} (x);\n}}\n"}))
    if complaints != [f"src/store/a.c:3: {name}() is banned: use {instead}"]:
        tap.ok(False, f"it complains of {name}", complaints)
tap.bad(banned, {"src/cli/main.c": "strcpy(a, b);"}, "use buffer_add_text or memcpy")
tap.bad(banned, {"examples/embed.c": "n = atoi(argv[1]);"}, "atoi() is banned")
tap.bad(banned, {"src/base/buffer.c": "free(p);"}, "use mem_free")
tap.good(banned, {"src/base/alloc.c": "free(p); malloc(3);", "src/tokens/make.c": "int main(void)\n{\n\texit(1);\n}\n",
                  "src/cli/main.c": 'printf("strcpy(%d)", 1); exit(2);',
                  "src/store/a.c": "// gets(x)\nalloc->free(p); mem_free(p); my_printf(x); snprintf(a, 2, b);"})
tap.check("no banned call", banned, tree.read(under=["src/", "examples/"], endings=[".c", ".h", ".inc"]))
tap.done()
