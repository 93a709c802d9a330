// SPDX-License-Identifier: MIT
// Run by bench/tokens.sh. For each text and counter: the counts must be equal; then the first count (cold: nothing cached) and
// the median of the later ones (warm), one thread, one text after the other, bobbin's in the same run as its peers.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const options = {};
for (let i = 2; i < process.argv.length; i += 2)
	options[process.argv[i].slice(2)] = process.argv[i + 1];
const RUNS = 9, TEXT_BYTES = 4_000_000;
const require = createRequire(resolve(options.modules, '..', 'package.json'));
const load = (name) => {
	try {
		return require(name);
	} catch (error) {
		console.log(`left out: ${name}: ${String(error.message).split('\n')[0]}`);
		return null;
	}
};

// ---- texts ----
const folder = mkdtempSync(join(tmpdir(), 'bench-tokens-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const texts = [];
const add = (name, text) => {
	const path = join(folder, name.replace(/\W+/g, '-'));
	writeFileSync(path, text);
	texts.push({ name, path, text: readFileSync(path, 'utf8'), bytes: statSync(path).size });
};
const files_below = (path) => readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1)).flatMap((entry) =>
	entry.isDirectory() ? files_below(join(path, entry.name)) : [join(path, entry.name)]);
const strings_in = (value) => typeof value === 'string' ? (value.length > 20 ? [value] : []) :
	value && typeof value === 'object' ? Object.values(value).flatMap(strings_in) : [];
const parsed = (path) => {
	const text = readFileSync(path, 'utf8');
	return (path.endsWith('l') ? text.split('\n') : [text]).flatMap((part) => {
		try {
			return strings_in(JSON.parse(part));
		} catch {
			return [];
		}
	});
};
const cut = (text) => Buffer.from(text).subarray(0, TEXT_BYTES).toString().replace(/\ufffd+$/, '');
add('source code', cut(files_below('src').filter((path) => /\.[ch]$/.test(path)).map((path) => readFileSync(path, 'utf8')).join('\n')));
add('multilingual', readFileSync('tests/tokens/bands.tsv', 'utf8').split('\n').filter((line) => line && line[0] !== '#')
	.map((line) => Buffer.from(line.split('\t')[3], 'hex').toString()).filter((text) => /[^\x00-\x7f]/.test(text)).join('\n').repeat(40));
if (options.transcripts) {
	const all = files_below(options.transcripts);
	const talk = all.filter((path) => /longmemeval|locomo/.test(path)), rest = all.filter((path) => /\.jsonl?$/.test(path) && !talk.includes(path));
	add('English talk', cut(talk.flatMap(parsed).join('\n')));
	add('agents\' messages', cut(rest.flatMap(parsed).filter((text) => text.length < 100_000).join('\n')));
	add('agents\' logs, raw', cut(rest.map((path) => readFileSync(path, 'utf8').slice(0, 200_000)).join('\n')));
}

// ---- counters ----
const counters_of = (encoding) => {
	const counters = [];
	const tiktoken = load('tiktoken'), ai = load('ai-tokenizer'), gpt = load('gpt-tokenizer'), node = load('@anysphere/tiktoken-node');
	if (tiktoken) {
		const reference = tiktoken.get_encoding(encoding);
		counters.push({ name: 'tiktoken (WASM)', count: (text) => reference.encode(text, [], []).length });
	}
	if (ai) {
		const Tokenizer = ai.default ?? ai.Tokenizer, data = require(`ai-tokenizer/encoding/${encoding}`);
		const tokenizer = new Tokenizer(data.default ?? data);
		counters.push({ name: 'ai-tokenizer', count: (text) => tokenizer.encode(text, 'all').length }); // 'all': its plain-text path
	}
	if (gpt) {
		const own = require(`gpt-tokenizer/encoding/${encoding}`);
		counters.push({ name: 'gpt-tokenizer', count: (text) => own.countTokens(text, { disallowedSpecial: new Set() }) });
	}
	const number = node?.SupportedEncoding[encoding === 'o200k_base' ? 'O200k' : 'Cl100k'];
	if (number !== undefined) {
		/* Its exact count runs on a thread of its own; only one at a time is asked for. */
		const tokenizer = node.getTokenizer();
		counters.push({ name: 'tiktoken-node', count: (text) => tokenizer.exactNumTokensNoSpecialTokens(text, number) });
	}
	return counters;
};

const milliseconds = async (work) => {
	const begin = performance.now();
	const result = await work();
	return [performance.now() - begin, result];
};
const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];
const ours = (encoding, runs, paths) => {
	const run = spawnSync(options.timer, [encoding, String(runs), ...paths], { encoding: 'utf8' });
	if (run.status !== 0)
		throw new Error(run.stderr || String(run.error));
	const lines = run.stdout.trim().split('\n').map((line) => line.split(' ').map(Number));
	return { memory: lines.pop()[0], rows: lines.map(([tokens, cold, warm, estimate_ms, estimate]) => ({ tokens, cold, warm, estimate_ms, estimate })) };
};
const row = (name, tokens, cold, warm, bytes, ratio) => console.log(`  ${name.padEnd(24)} ${String(tokens).padStart(9)} ` +
	`${cold.toFixed(2).padStart(9)} ${warm.toFixed(2).padStart(9)} ${(bytes / 1e3 / warm).toFixed(1).padStart(9)}  ${ratio}`);

let unequal = 0;
for (const encoding of ['o200k_base', 'cl100k_base']) {
	const counters = counters_of(encoding);
	for (const text of texts) {
		console.log(`${encoding}, ${text.name}, ${text.bytes} bytes\n  ${'counter'.padEnd(24)}    tokens   cold ms   warm ms      MB/s  bobbin is faster`);
		const first = ours(encoding, RUNS, [text.path]);
		const rows = [];
		for (const counter of counters) {
			const [cold, tokens] = await milliseconds(() => counter.count(text.text));
			const times = [];
			while (times.length < (cold > 2000 ? 3 : 5))
				times.push((await milliseconds(() => counter.count(text.text)))[0]);
			const warm = median(times);
			rows.push({ ...counter, tokens, cold, warm });
		}
		const second = ours(encoding, RUNS, [text.path]);
		const own = first.rows[0];
		own.warm = median([own.warm, second.rows[0].warm, (own.warm + second.rows[0].warm) / 2]);
		own.cold = Math.min(own.cold, second.rows[0].cold);
		row('bobbin', own.tokens, own.cold, own.warm, text.bytes, `(${(first.memory / 1024).toFixed(1)} MB resident)`);
		for (const peer of rows) {
			const equal = peer.tokens === own.tokens;
			unequal += !equal && peer.name.startsWith('tiktoken');
			row(peer.name, peer.tokens, peer.cold, peer.warm, text.bytes, `${(peer.warm / own.warm).toFixed(1)} x warm, ` +
				`${(peer.cold / own.cold).toFixed(1)} x cold${equal ? '' : '  COUNT DIFFERS'}`);
		}
		row('bobbin, estimate', own.estimate, own.estimate_ms, own.estimate_ms, text.bytes, `${(100 * own.estimate / own.tokens).toFixed(0)} % of the count`);
	}
}

// ---- unbroken megabytes: time must be linear; the npm counters are quadratic, so they get 20 kB of each ----
let state = 99;
const random = (below) => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % 65521 % below;
const runs = {
	letters: 'a'.repeat(1e6), spaces: ' '.repeat(1e6), digits: '7'.repeat(1e6), CJK: '\u4e2d\u6587\u5b57'.repeat(111111), emoji: '\u{1f600}'.repeat(250000),
	'random letters': Array.from({ length: 1e6 }, () => String.fromCharCode(97 + random(26))).join(''),
	'random CJK': Array.from({ length: 333333 }, () => String.fromCodePoint(0x4e00 + random(20000))).join(''),
};
for (const encoding of ['o200k_base', 'cl100k_base']) {
	const counters = counters_of(encoding);
	console.log(`${encoding}, 1 MB unbroken; peers: 20 kB of it, in ms`);
	for (const [name, text] of Object.entries(runs)) {
		const path = join(folder, 'run'), part = text.slice(0, 20000);
		writeFileSync(path, text);
		const { rows: [own] } = ours(encoding, 5, [path]);
		const short = join(folder, 'part');
		writeFileSync(short, part);
		const { rows: [own_short] } = ours(encoding, 5, [short]);
		const peers = [];
		for (const counter of counters) {
			const [time, tokens] = await milliseconds(() => counter.count(part));
			peers.push(`${counter.name} ${time.toFixed(0)}${tokens === own_short.tokens ? '' : ' (COUNT DIFFERS)'}`);
		}
		console.log(`  ${name.padEnd(16)} bobbin ${own.cold.toFixed(1).padStart(6)} ms cold ${own.warm.toFixed(1).padStart(6)} warm  ${String(own.tokens).padStart(7)} tokens;  ${peers.join(', ')}`);
	}
}
if (unequal) {
	console.log(`${unequal} counts differ from the reference`);
	process.exit(1);
}
