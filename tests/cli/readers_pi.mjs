// SPDX-License-Identifier: MIT
// What pi's own reader makes of a session file: node readers_pi.mjs MODULES FILE prints {entries, roots, context}.
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

const [modules, file] = process.argv.slice(2);
const from = join(modules, '@mariozechner/pi-coding-agent/dist/core/session-manager.js');
const { SessionManager } = await import(pathToFileURL(from).href);
const manager = SessionManager.open(file);

const textOf = content => typeof content === 'string' ? content
	: (content ?? []).filter(part => part.type === 'text').map(part => part.text).join('\n');
const context = manager.buildSessionContext().messages.map(message => ({
	role: message.role,
	text: message.summary ?? textOf(message.content),
	calls: Array.isArray(message.content) ? message.content.filter(part => part.type === 'toolCall').map(part => part.id) : [],
	answers: message.toolCallId ?? '',
}));
process.stdout.write(JSON.stringify({ entries: manager.getEntries().length, roots: manager.getTree().length, context }));
