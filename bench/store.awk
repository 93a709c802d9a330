# SPDX-License-Identifier: MIT
# The table of bench/store.sh, with the functions of table.awk. In rows of bobbin the ratio is to what must be reached, or to the
# peer that sets it; in rows of peers, to bobbin.
function equal(text, key, slack, unit, low, high, value, i) {
	for (i = 1; i <= 3; i++) {
		if (!has(sizes[i], key))
			return
		value = get(sizes[i], key)
		low = i == 1 || value < low ? value : low
		high = i == 1 || value > high ? value : high
	}
	line(text, slack ? "equal +- " slack : "equal", number(get(sizes[3], key)) " " unit,
		sprintf("%s / %s", number(get(sizes[1], key)), number(get(sizes[2], key))),
		verdict(high - low <= slack, sizes[3]))
}

END {
	head("100,000 messages, 200 MB, median record 400 B")
	most("open and plan, warm, in the library", "open", "p50_us", 1e-3, "ms", 2)
	beside("the whole process: bobbin window", "process", "p50_us", 1e-3, "ms")
	beside("  of that, a process that does nothing", "process-floor", "p50_us", 1e-3, "ms")
	beside("pi: open, build the context", "pi-open", "p50_us", 1e-3, "ms", "open", "p50_us")
	most("peak memory of that", "open", "peak_kib", 1 / 1024, "MiB", 30)
	most("rebuild a missing index, written", "rebuild", "p50_us", 1e-3, "ms", 250)
	most("  time of the processor for it", "rebuild", "cpu_us", 1e-3, "ms", 250)
	most("plan from an open session", "plan", "p50_us", 1, "us", 10)
	most("  refresh, plan, an 8 kB system prompt", "plan-public", "p50_us", 1, "us", 10)
	if (has("exact-open", "p50_us")) {
		most("open and plan, exact tokens that are known", "exact-open", "p50_us", 1e-3, "ms", 2)
		most("plan from an open session, exact tokens", "exact-plan", "p50_us", 1, "us", 10)
		beside("counting 200 MB exactly, once", "exact", "count_ms", 1, "ms")
	}
	most("fork, durable", "fork", "p50_us", 1e-3, "ms", 1)
	beside("raw write and fdatasync of a line", "raw", "p50_us", 1e-3, "ms", "fork", "p50_us")
	most("bytes of a fork", "fork", "bytes", 1, "B", 4096)
	most("list 10,000 sessions", "list", "p50_us", 1e-3, "ms", 100)
	if (has("ripgrep", "p50_us") && has("search", "messages") && get("search", "messages") != get("ripgrep", "messages"))
		print "search found " get("search", "messages") " messages and ripgrep " get("ripgrep", "messages")
	if (has("ripgrep", "p50_us"))
		most("exact search, times ripgrep's, same messages", "search", "p50_us", 1 / get("ripgrep", "p50_us"), "x", 1.2)
	beside("exact search", "search", "p50_us", 1e-3, "ms")
	beside("  of that, reading the log alone", "search-read", "p50_us", 1e-3, "ms")
	beside("ripgrep, as a process", "ripgrep", "p50_us", 1e-3, "ms")

	head("appends, synced (in turn with each other)")
	against("one append of 400 B, p50", "append", "raw", "p50_us", 1, "us", 0.9)
	beside("raw write and fdatasync", "raw", "p50_us", 1, "us", "append", "p50_us")
	beside("SQLite, WAL, FULL", "sqlite", "p50_us", 1, "us", "append", "p50_us")
	beside("better-sqlite3, WAL, FULL", "better-sqlite3", "p50_us", 1, "us", "append", "p50_us")
	beside("pi (does not sync)", "pi-append", "p50_us", 1, "us", "append", "p50_us")
	against("64 sessions in parallel, a second", "parallel", "raw-parallel", "per_second", 1, "", 0.85, 1)
	beside("raw write and fdatasync, 64 files", "raw-parallel", "per_second", 1, "")
	most("  99th percentile", "parallel", "p99_us", 1e-3, "ms", 5)
	beside("raw, 99th percentile", "raw-parallel", "p99_us", 1e-3, "ms", "parallel", "p99_us")
	most("bytes written beyond the message", "append", "bytes_beyond", 1, "B", 300)

	head("a turn, at 100,000 (ratio: at 100 / 2,400)")
	split("turn-100 turn-2400 turn-all", sizes, " ")
	equal("system calls", "calls", 0, "")
	equal("entries of the index file looked at", "entries", 16, "")
	equal("bytes read (numbers have more digits)", "bytes_read", 250, "B")
	equal("bytes written for 2 messages of 2,000 B", "bytes_written", 16, "B")
	split("first-turn-100 first-turn-2400 first-turn-all", sizes, " ")
	equal("system calls, opening included", "calls", 20, "")
	equal("  entries of the index file", "entries", 20, "")
	beside("bytes read, opening included", "first-turn-all", "bytes_read", 1, "B")
	beside("time of a turn at 2,400 messages", "turn-2400", "p50_us", 1e-3, "ms")
	beside("LangGraph's SqliteSaver, at 100", "langgraph-100", "p50_us", 1e-3, "ms", "turn-100", "p50_us")
	beside("LangGraph's SqliteSaver, at 2,400", "langgraph-2400", "p50_us", 1e-3, "ms", "turn-2400", "p50_us")
	beside("bytes it writes a turn, at 2,400", "langgraph-2400", "bytes_written", 1, "B", "turn-2400", "bytes_written")

	if (!has("large", "p50_us"))
		exit
	head("1 GB, 200,000 messages")
	most("open and plan, warm", "large", "p50_us", 1e-3, "ms", 2)
	most("peak memory of that", "large", "peak_kib", 1 / 1024, "MiB", 30)
	most("plan from an open session", "large-plan", "p50_us", 1, "us", 10)
	most("list", "large-list", "p50_us", 1e-3, "ms", 100)
	beside("rebuild its index", "large-rebuild", "p50_us", 1e-3, "ms")
	most("  peak memory of that", "large-rebuild", "peak_kib", 1 / 1024, "MiB", 30)
	head("a line of 12 MB among 19")
	most("open and plan, warm", "line", "p50_us", 1e-3, "ms", 2)
	most("plan from an open session", "line-plan", "p50_us", 1, "us", 10)
	most("list", "line-list", "p50_us", 1e-3, "ms", 100)
	head("3,000 sessions, 11 GB (holes)")
	most("list", "sparse-list", "p50_us", 1e-3, "ms", 100)
	most("list, without any cache", "sparse-first", "p50_us", 1e-3, "ms", 1000)
}
