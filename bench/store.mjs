// SPDX-License-Identifier: MIT
// Usage: node store.mjs DIR MESSAGES BYTES MODULES
// npm peers of the store, as time_store prints: name, then pairs. A peer that is not there is left out.
import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [dir, messages, bytes, modules] = process.argv.slice(2);
const require = createRequire(path.resolve(modules, 'x.js'));
const median = times => times.sort((a, b) => a - b)[times.length >> 1];
const tell = (name, times) => console.log(`${name} p50_us ${(median(times) * 1000).toFixed(1)}`);
const time = work => { const start = performance.now(); work(); return performance.now() - start; };
const text = 'x'.repeat(300);

try {
	const Database = require('better-sqlite3');
	const db = new Database(path.join(dir, 'better.db'));
	db.pragma('journal_mode = WAL');
	db.pragma('synchronous = FULL');
	db.exec('create table messages (id integer primary key, body text)');
	const insert = db.prepare('insert into messages (body) values (?)');
	tell('better-sqlite3', Array.from({ length: 201 }, () => time(() => insert.run(text))));
	db.close();
} catch (error) { console.error(`better-sqlite3: ${error.message}`); }

try {
	const root = path.resolve(modules, '@mariozechner/pi-coding-agent/dist');
	const { SessionManager } = await import(pathToFileURL(path.join(root, 'core/session-manager.js')));
	const file = path.join(dir, 'pi.jsonl');
	const lines = [JSON.stringify({ type: 'session', version: 3, id: 'p', timestamp: new Date().toISOString(), cwd: dir })];
	const body = 'y'.repeat(Math.round(bytes / messages) - 200);
	for (let i = 0; i < messages; i++)
		lines.push(JSON.stringify({ type: 'message', id: i.toString(16).padStart(8, '0'),
			parentId: i ? (i - 1).toString(16).padStart(8, '0') : null, timestamp: new Date().toISOString(),
			message: { role: 'user', content: body, timestamp: 1 } }));
	writeFileSync(file, lines.join('\n') + '\n');
	const opens = Array.from({ length: 3 }, () => time(() => SessionManager.open(file).buildSessionContext()));
	tell('pi-open', opens);
	const manager = SessionManager.open(file);
	tell('pi-append', Array.from({ length: 201 },
		() => time(() => manager.appendMessage({ role: 'user', content: text, timestamp: 1 }))));
} catch (error) { console.error(`pi: ${error.message}`); }
