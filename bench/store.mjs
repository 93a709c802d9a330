// SPDX-License-Identifier: MIT
// Usage: node store.mjs DIR MESSAGES BYTES MODULES LANGGRAPH_MODULES
// npm peers of the store, as time_store prints: name, then pairs. A peer that is not there is left out.
import { createRequire } from 'node:module';
import { statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [dir, messages, bytes, modules, langgraph] = process.argv.slice(2);
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

// A turn as a graph's checkpointer sees it: load the newest checkpoint, store one with the user's words, one with the
// reply. SqliteSaver opens the database itself; synchronous=FULL is set so that it promises what bobbin does.
try {
	const require = createRequire(path.resolve(langgraph, 'x.js'));
	const { SqliteSaver } = require('@langchain/langgraph-checkpoint-sqlite');
	const { emptyCheckpoint, uuid6 } = require('@langchain/langgraph-checkpoint');
	const { HumanMessage, AIMessage } = require('@langchain/core/messages');
	const body = 'z'.repeat(1900);
	const config = { configurable: { thread_id: 't', checkpoint_ns: '' } };
	for (const count of [100, 2400]) {
		const file = path.join(dir, `langgraph-${count}.db`);
		const saver = SqliteSaver.fromConnString(file);
		saver.setup();
		saver.db.pragma('synchronous = FULL');
		saver.db.pragma('wal_autocheckpoint = 0');
		let steps = 0;
		const put = async messages => saver.put(config,
			{ ...emptyCheckpoint(), id: uuid6(steps), channel_values: { messages } },
			{ source: 'loop', step: steps++, parents: {} });
		await put(Array.from({ length: count }, (_, i) =>
			i % 2 ? new AIMessage(body) : new HumanMessage(body)));
		const wal = () => statSync(`${file}-wal`).size;
		const times = [], before = wal();
		for (let turn = 0; turn < 11; turn++) {
			const start = performance.now();
			const { checkpoint } = await saver.getTuple(config);
			const messages = [...checkpoint.channel_values.messages, new HumanMessage(body)];
			await put(messages);
			await put([...messages, new AIMessage(body)]);
			times.push(performance.now() - start);
		}
		console.log(`langgraph-${count} bytes_written ${((wal() - before) / 11).toFixed(0)}`);
		tell(`langgraph-${count}`, times);
		saver.db.close();
	}
} catch (error) { console.error(`LangGraph: ${error.message}`); }
