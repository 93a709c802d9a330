// SPDX-License-Identifier: MIT
// Compares every token with npm tiktoken (the reference implementation as WASM), for both encodings:
//
//	node tests/tokens/compare_npm.mjs --helper BUILD/tests/tokens/token_lines --modules .deps/bench/node_modules
//		[--seed N] [--count 30000] [FOLDER…]
//
// The texts are COUNT seeded random Unicode strings, and all files of the folders. Exit 0: no difference; 1: there are
// some, and the first are printed; 77: npm tiktoken or the rank files are not there.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const options = { helper: '', modules: '.deps/bench/node_modules', seed: '1', count: '30000' }, folders = [];
for (let i = 2; i < process.argv.length; i++)
	if (process.argv[i].startsWith('--'))
		options[process.argv[i].slice(2)] = process.argv[++i];
	else
		folders.push(process.argv[i]);
const tiktoken = resolve(options.modules, 'tiktoken');
if (!existsSync(tiktoken)) {
	console.log('skipped: npm tiktoken is not installed');
	process.exit(77);
}
const { get_encoding } = createRequire(import.meta.url)(tiktoken);

// A small generator of our own (xorshift32), so that a seed gives the same strings everywhere.
let state = (Number(options.seed) * 2654435761) >>> 0 || 1;
const random = (below) => {
	state ^= state << 13; state >>>= 0;
	state ^= state >>> 17;
	state ^= state << 5; state >>>= 0;
	return state % below;
};
const pick = (list) => list[random(list.length)];
const ranges = [[0x20, 0x7e], [0x20, 0x7e], [0x00, 0x1f], [0x80, 0xff], [0x100, 0x24f], [0x250, 0x36f], [0x370, 0x52f],
	[0x531, 0x6ff], [0x900, 0xdff], [0xe00, 0x10ff], [0x1ab0, 0x1fff], [0x2000, 0x2bff], [0x2c00, 0x2fff],
	[0x3000, 0x30ff], [0x4e00, 0x9fff], [0xa000, 0xabff], [0xac00, 0xd7a3], [0xe000, 0xe0ff], [0xf900, 0xffff],
	[0x10000, 0x11fff], [0x16800, 0x1e9ff], [0x1f000, 0x1faff], [0x20000, 0x323af], [0xe0000, 0xe01ff], [0, 0x10ffff]];
const words = ['\'s', '\'S', '\'t', '\'re', '\'VE', '\'ll', '\'lL', '\'d', '\'m', '\'\u017f', '\'', '\'\'', '\'x', ' ', '  ', '   ',
	'\t', '\n', '\r\n', '\n\n', ' \n', '\n ', '\n  ', '\u0085', '\u00a0', '\u2028', '\u3000', '\ufeff', '\0', '\x1c', '\x0b', '\u200d',
	'<|endoftext|>', '<|fim_prefix|>', '/', '//', '/\n', '\n/', '.\n/', ';\n//', '!', '...', '()', '"', '{"a":1}', '1', '12', '123',
	'1234', '12345678', '\u0663', '\u00bd', '\u2167', 'a', 'A', 'Ab', 'aB', 'ABc', 'the', ' the', 'The', 'don\'t', 'HTTPServer',
	'\u01c5', '\u02b0', '\u0301', '\u0e34', '\u4e2d', '\u4e2d\u6587', '\u3042', '\uac00', '\ud83d\ude00', '\u{1f468}\u200d\u{1f469}',
	'\u{1f1e9}\u{1f1ea}', '\u00e9', '\u00c9', 'stra\u00dfe', '\u043f\u0440\u0438', '\u041f', '\u0645\u0631', '\u05d0', '\ud800', '\udfff'];
const ascii = ['\'', '\'', 's', 't', 'l', 'e', 'v', 'r', 'S', 'L', 'A', 'b', ' ', ' ', '\t', '\n', '\n', '\r', '/', '.', '(', '1', '2'];
const character = () => {
	const [first, last] = pick(ranges);
	return String.fromCodePoint(first + random(last - first + 1));
};
const string = () => {
	const kind = random(8), length = 1 + random(pick([4, 12, 40, 200]));
	let text = '';
	const [first, last] = pick(ranges);
	for (let i = 0; i < length; i++)
		if (kind < 2)
			text += pick(words);
		else if (kind < 4)
			text += pick(ascii);
		else if (kind === 4)
			text += String.fromCodePoint(first + random(last - first + 1));
		else if (kind === 5)
			text += character();
		else
			text += random(2) ? pick(words) : random(3) ? pick(ascii) : character();
	return text;
};

const texts = [];
for (let i = 0; i < Number(options.count); i++)
	texts.push([`random string ${i} of seed ${options.seed}`, Buffer.from(string())]);
const add_files = (path) => {
	if (statSync(path).isDirectory())
		readdirSync(path).sort().forEach((name) => add_files(join(path, name)));
	else
		texts.push([path, readFileSync(path)]);
};
folders.forEach(add_files);

// A long text is cut for the reference, which needs seconds for some of them; cuts are at line ends.
const LONG = 1 << 20;
const parts = texts.flatMap(([name, bytes]) => {
	const found = [];
	for (let at = 0; at < bytes.length || at === 0;) {
		let end = Math.min(bytes.length, at + LONG);
		if (end < bytes.length)
			end = bytes.lastIndexOf(10, end) + 1 || end;
		if (end <= at)
			end = Math.min(bytes.length, at + LONG);
		found.push([at ? `${name} from byte ${at}` : name, bytes.subarray(at, end)]);
		at = end;
		if (at >= bytes.length)
			break;
	}
	return found;
});

let differences = 0, compared = 0, tokens_seen = 0;
for (const name of ['o200k_base', 'cl100k_base']) {
	const reference = get_encoding(name);
	for (let first = 0; first < parts.length;) {
		const batch = [];
		let bytes = 0;
		while (first < parts.length && batch.length < 5000 && bytes < 1 << 26) {
			bytes += parts[first][1].length;
			batch.push(parts[first++]);
		}
		const input = Buffer.concat(batch.flatMap(([, text]) => {
			const length = Buffer.alloc(4);
			length.writeUInt32LE(text.length);
			return [length, text];
		}));
		const run = spawnSync(options.helper, [name], { input, maxBuffer: 1 << 28 });
		const lines = run.stdout?.toString().trim().split('\n') ?? [];
		if (run.status !== 0 || lines.length !== batch.length) {
			console.log(run.status === 1 && run.stdout.length === 0 ? `skipped: ${name} is not built in` :
				`the helper failed: ${run.error ?? run.status} ${run.stderr}`);
			process.exit(run.stdout?.length === 0 ? 77 : 1);
		}
		batch.forEach(([what, text], i) => {
			const tokens = reference.encode(new TextDecoder('utf-8', { ignoreBOM: true }).decode(text), [], []);
			let hash = 0;
			for (const token of tokens)
				hash = (Math.imul(hash, 31) + token) >>> 0;
			const [count, encoded, ours] = lines[i].split(' ').map(Number);
			compared++;
			tokens_seen += tokens.length;
			if (count === tokens.length && encoded === tokens.length && ours === hash)
				return;
			if (differences++ < 10)
				console.log(`${name}: ${what}: counted ${count}, encoded ${encoded}, the reference has ${tokens.length}` +
					(text.length < 300 ? `: ${JSON.stringify(text.toString())}` : ''));
		});
	}
	reference.free();
}
console.log(`${compared} texts, ${tokens_seen} tokens, ${differences} differences`);
process.exit(differences ? 1 : 0);
