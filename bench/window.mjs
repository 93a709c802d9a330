// SPDX-License-Identifier: MIT
// Run by bench/window.sh: planning by bobbin beside trimMessages of @langchain/core, in the same run. The peer gets the easiest
// case: a counter that only adds up numbers it was given, and no tool calls to check.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const options = {};
for (let i = 2; i < process.argv.length; i += 2)
	options[process.argv[i].slice(2)] = process.argv[i + 1];
const COUNTS = [1000, 10000, 100000];
const PEER_COUNTS_MAX = 10000, PEER_RUNS = 5, PEER_TOKENS = 22500; // a quarter of what a window of 128,000 leaves

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const micro = (ns) => `${(ns / 1000).toFixed(ns < 1e5 ? 2 : 0)} µs`;

const run = spawnSync(options.timer, COUNTS.map(String), { encoding: 'utf8' });
if (run.status !== 0) {
	console.error(run.stderr);
	process.exit(1);
}
const ours = new Map();
console.log('bobbin: budget and plan, counts known, window 128,000 (median of 5,001; 99th percentile)');
for (const line of run.stdout.trim().split('\n')) {
	const [count, asked, middle, , high, kept] = line.split(' ').map(Number);
	ours.set(count, middle);
	console.log(`  ${String(count).padStart(7)} messages  ${micro(middle).padStart(9)}  ${micro(high).padStart(9)}  ${asked} items looked at, ${kept} kept`);
}

const require = createRequire(resolve(options.modules, '..', 'package.json'));
let core;
try {
	core = require('@langchain/core/messages');
} catch (error) {
	console.log(`left out: @langchain/core: ${String(error.message).split('\n')[0]}`);
	process.exit(0);
}
const { HumanMessage, AIMessage, trimMessages } = core;
console.log(`@langchain/core trimMessages, strategy last, startOn human, ${PEER_TOKENS} tokens (median of ${PEER_RUNS})`);
for (const count of COUNTS.filter((n) => n <= PEER_COUNTS_MAX)) {
	const messages = Array.from({ length: count }, (_, i) => i % 2 ? new AIMessage('answer') : new HumanMessage('question'));
	const tokens = new Map(messages.map((message, i) => [message.content, 110]));
	const tokenCounter = (list) => list.reduce((sum, message) => sum + tokens.get(message.content), 0);
	const times = [];
	let kept = 0;
	for (let i = 0; i < PEER_RUNS; i++) {
		const start = process.hrtime.bigint();
		kept = (await trimMessages(messages, { maxTokens: PEER_TOKENS, strategy: 'last', startOn: 'human', tokenCounter })).length;
		times.push(Number(process.hrtime.bigint() - start));
	}
	const middle = median(times);
	console.log(`  ${String(count).padStart(7)} messages  ${micro(middle).padStart(9)}  ${kept} kept  ${Math.round(middle / ours.get(count)).toLocaleString('en')} times bobbin's`);
}
