// SPDX-License-Identifier: MIT
// Writes vectors.tsv and bands.tsv beside this file from npm tiktoken, the reference. Run by hand when a case is added:
//
//	node tests/tokens/make_vectors.mjs .deps/bench/node_modules
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const { get_encoding } = createRequire(import.meta.url)(resolve(process.argv[2], 'tiktoken'));
const encodings = ['o200k_base', 'cl100k_base'].map((name) => [name, get_encoding(name)]);
const tokens = (encoding, bytes) => Array.from(encoding.encode(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), [], []));

// ---- hard cases: what each pattern does at its edges ----
const cases = [
	// contractions: every one, in both cases, chained, at the edges, with the long s
	'\'s', '\'S', '\'t', '\'T', '\'re', '\'RE', '\'Re', '\'ve', '\'m', '\'ll', '\'LL', '\'lL', '\'d', 'I\'m', 'we\'ll see', 'don\'t',
	'DON\'T', 'don\'tx', 'a\'s\'s', 'a\'s\'s\'s', '\'s\'s', '\'\'s', ' \'s', '\t\'s', '\n\'s', 'x=\'s\'', '\'re\'', '\'r', '\'l', '\'v e', 'a\'\u017f', '\'\u017f',
	'a\'\u017fb', 'it\'sB', 'it\'SB', 'It\'s 5\'s', '\u2019s', 'don\u2019t', '\u4e2d\'s', '\u00e9\'ll', '\u0301\'s', '1\'s', '\'sort', '\'dear', '\'tis', '\'twas',
	// letters: case changes, title case, modifier letters, marks before, between and after
	'aB', 'ABc', 'ABCdef', 'HTTPServer', 'camelCaseWord', 'XMLHttpRequest', 'iOS', 'McDonald', '\u01c5a', 'A\u01c5', 'a\u01c5', '\u02b0a', 'A\u02b0', '\u02b0A',
	'A\u02b0B', 'AB\u4e2dCD', '\u4e2dA', 'A\u4e2d', 'a\u4e2dB', 'e\u0301', '\u0301e', ' \u0301', '!\u0301', '\u0301AB', '\u0301\u0301', '\u0301Ab', '(\u0301A', 'A\u0301', 'A\u0301B',
	'A\u0301b', '\u00c9COLE', '\u00c9cole', 'Stra\u00dfe', 'STRASSE', '\u1e9e', '\ufb01', '\u2126', '\u212a', '\u00aa\u00ba', '\u0130stanbul', '\u0131', '\u03a3\u03c3\u03c2',
	// one character before a word
	' a', '  a', '\ta', '\t\ta', '\u00a0a', '\u3000a', '(a', '((a', ' (a', '-a', '--a', '_a', '__a', '\0a', '\ufeffa', '\u200ba', '\u0085a', '\u2028a', '$a', '\u20aca', '\u{1f600}a', '/a',
	// numbers
	'1', '12', '123', '1234', '1234567', ' 1', ' 1234', '1 234 567', '3.14159', '1e400', '0x1F', '1a2b', '\u0663\u0664\u0665\u0666', '\u00bd\u00bc', '\u2167\u2168', '\u4e00\u4e8c',
	'\u0967\u0968\u0969\u096a', '12\u06634', '1,000,000', '2026-09-04T10:00:00Z', '\u2460\u2461',
	// other characters with line ends and slashes behind
	'!', '!!', '! !', ' !', '  !', '!\n', '!\n\n', '!\r\n', '!\n!', '!\n/', '!\n//', ';\n// x', '!\n/\n/', '!/\n', '/\n/', '\n/', '\n/a', '.\n\n/usr', '{}\n\n', '});\n\n}', '...',
	'====', '----------------', '/* a */', '<|endoftext|>', '<|endofprompt|>', 'a<|endoftext|>b', '<|fim_prefix|>', '\u2026', '\u201ca\u201d', '\u2014a', ' \u2014 ', '\u3002', '\u3002\n', '\uff0c\u4e2d',
	// white space
	' ', '  ', '   ', '    a', '\n', '\n\n', '\n\n\n', '\r', '\r\n', '\r\n\r\n', ' \n', '\n ', '\n  ', ' \n ', '  \n  a', '\n\n  a', '\n \n a', '\t\n', '\n\t', '\n\t\ta', 'a \n b', 'a  ', 'a \n',
	'a\n', 'a\n\n  ', '\u0085', '\u0085\u0085', 'a\u0085b', '\u00a0', '\u00a0\u00a0a', '\u1680', '\u2028', '\u2029a', '\u3000\u3000', '\u202f1', '\u205f!', '\u180ea', '\u200b', '\u200d', '\ufeff', '\ufeff\ufeff',
	'\x0b', '\x0c', '\x0b\x0ca', '\x1c', '\x1d\x1e\x1f', '\x1c a', ' \x1c', '\0', '\0\0', 'a\0b', '\x7f', '\x01\n', '\u00ad', ' \u00ad',
	' '.repeat(63) + 'a', ' '.repeat(64) + 'a', ' '.repeat(65), ' '.repeat(129) + '\n', '\n'.repeat(70) + ' a', 'a' + ' '.repeat(62) + '\n' + ' '.repeat(62) + 'b',
	// scripts
	'\u4f60\u597d\uff0c\u4e16\u754c\uff01', '\u3053\u3093\u306b\u3061\u306f', '\u30c6\u30b9\u30c8', '\uc548\ub155\ud558\uc138\uc694', '\u1112\u1161\u11ab', '\u041f\u0440\u0438\u0432\u0435\u0442', '\u0645\u0631\u062d\u0628\u0627', '\u05e9\u05dc\u05d5\u05dd', '\u0928\u092e\u0938\u094d\u0924\u0947',
	'\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35', '\u10d2\u10d0\u10db\u10d0\u10e0', '\u0533\u0561\u0580', '\u1230\u120b\u121d', '\u17a2\u17b6', '\ua000\ua001', '\u{10400}\u{10428}', '\u{1d400}\u{1d41a}', '\u{20000}\u{2a6df}', '\u{2ebf0}', '\u{10d4e}\'s', '\u{11f04}\'s', '\u{323b0}\'s', '\u{10940}\'s', '\u0378\'s',
	// emoji
	'\u{1f600}', '\u{1f600}\u{1f600}', '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}', '\u{1f1e9}\u{1f1ea}', '\u2764\ufe0f', '\u{1f44d}\u{1f3fd}', '1\ufe0f\u20e3', 'a\u{1f600}b', ' \u{1f600}\n', '\u{e0041}\u{e007f}', '\ue000', '\uffff', '\u{10ffff}', '\ufffd',
	// invalid UTF-8 in, U+FFFD out (as bytes)
	[0x80], [0xff, 0x61], [0xc3], [0x61, 0xe2, 0x82], [0xf4, 0x90, 0x80, 0x80], [0xc0, 0xaf, 0x41],
	// long words and repetition, across the 64-byte blocks
	'a'.repeat(63), 'a'.repeat(64), 'a'.repeat(65), 'a'.repeat(1000), '1'.repeat(200), '!'.repeat(200), '\u4e2d'.repeat(100), '\u{1f600}'.repeat(50), 'ab'.repeat(100), 'aA'.repeat(60), '\n'.repeat(200),
	'x'.repeat(61) + '\'s y', 'x'.repeat(62) + '\'re y', 'x'.repeat(63) + '\'ll y', 'x '.repeat(31) + 'a\'ve', 'a!'.repeat(40), '(a'.repeat(40), '!\n'.repeat(40), ' \n'.repeat(40), 'a\r\n'.repeat(30), '12345'.repeat(20),
	'antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis', 'd41d8cd98f00b204e9800998ecf8427e', 'The quick brown fox jumps over the lazy dog. '.repeat(3),
	'def f(x):\n    """doc"""\n    return x ** 2  # note\n\n\nif __name__ == "__main__":\n\tprint(f(3))\n', '{"a":[1,2,{"b":null}],"c":"\\u0000\\ud83d"}', 'SELECT * FROM t WHERE id=42;--', 'https://example.org/a/b?q=1&r=%20#x',
];
const rows = cases.flatMap((text) => {
	const bytes = Buffer.from(text);
	return encodings.map(([name, encoding]) => `${name}\t${bytes.toString('hex')}\t${tokens(encoding, bytes).join(' ')}`);
});
writeFileSync(new URL('vectors.tsv', import.meta.url),
	'# encoding, text in hex, tokens; by make_vectors.mjs from npm tiktoken\n' + rows.join('\n') + '\n');

// ---- texts of known size for the estimator: name, the two counts, text in hex ----
const base64 = Buffer.from(Array.from({ length: 600 }, (_, i) => (i * i * 31 + i * 7919 + (i >> 3) * 104729) >>> 3 & 255)).toString('base64');
const json = JSON.stringify(Array.from({ length: 12 }, (_, i) => ({ id: 10400 + i * 37, name: `part ${i}`, price: i * 12.75, tags: ['new', 'blue'], at: `2026-03-${10 + i}T08:15:00Z`, ok: i % 2 === 0, next: null })));
const texts = {
	english: 'When the train finally left the station, nobody on the platform waved. The rain had stopped an hour before, and the clerk was counting tickets behind the glass. She wrote the total on a card, put the card into a drawer, and locked it. Tomorrow the office in the city would ask for the number again, as it always did, and she would read it out slowly, digit by digit, while somebody at the other end typed it into a machine that had the number already.',
	german: 'Als der Zug endlich abfuhr, winkte niemand auf dem Bahnsteig. Der Regen hatte vor einer Stunde aufgehört, und die Angestellte zählte hinter der Glasscheibe die Fahrkarten. Sie schrieb die Summe auf einen Zettel, legte ihn in eine Schublade und schloss sie ab. Morgen würde die Zentrale wieder nach der Zahl fragen, wie jedes Mal.',
	russian: 'Когда поезд наконец отошёл, на платформе никто не махал рукой. Дождь кончился час назад, и кассирша за стеклом считала билеты. Она записала сумму на карточке, положила её в ящик и заперла. Завтра из города снова спросят это число, как всегда, и она медленно прочитает его вслух.',
	arabic: 'عندما غادر القطار المحطة أخيرا لم يلوح أحد على الرصيف. توقف المطر قبل ساعة وكانت الموظفة تعد التذاكر خلف الزجاج. كتبت المجموع على بطاقة ووضعتها في الدرج ثم أغلقته. غدا سيسأل المكتب في المدينة عن الرقم مرة أخرى كما يفعل دائما.',
	chinese: '火车终于离开车站的时候，站台上没有人挥手。雨在一个小时以前就停了，售票员正在玻璃后面数票。她把总数写在一张卡片上，把卡片放进抽屉，然后上了锁。明天城里的办公室又会来问这个数字，就像往常一样，她会一个字一个字慢慢地念出来。',
	japanese: '列車がようやく駅を出たとき、ホームで手を振る人は誰もいなかった。雨は一時間前にやんでいて、窓口の係員はガラスの向こうで切符を数えていた。彼女は合計をカードに書き、引き出しに入れて鍵をかけた。明日になれば、町の事務所がまたその数字を尋ねてくるだろう。',
	korean: '기차가 마침내 역을 떠났을 때 승강장에서 손을 흔드는 사람은 아무도 없었다. 비는 한 시간 전에 그쳤고 직원은 유리창 뒤에서 표를 세고 있었다. 그녀는 합계를 카드에 적어 서랍에 넣고 잠갔다. 내일 시내 사무실에서 또 그 숫자를 물어볼 것이다.',
	hindi: 'जब रेलगाड़ी आखिरकार स्टेशन से निकली तो प्लेटफार्म पर किसी ने हाथ नहीं हिलाया। बारिश एक घंटे पहले रुक चुकी थी और कर्मचारी शीशे के पीछे टिकट गिन रही थी। उसने जोड़ एक पर्ची पर लिखा, उसे दराज में रखा और ताला लगा दिया।',
	code: 'static int count_blocks(const struct table *table, size_t limit)\n{\n\tint total = 0;\n\tfor (size_t i = 0; i < limit; i++) {\n\t\tif (!table->rows[i].used)\n\t\t\tcontinue;\n\t\ttotal += table->rows[i].blocks;\n\t}\n\treturn total;\n}\n\nclass Reader:\n    def __init__(self, path, *, strict=False):\n        self.path = path\n        self.lines = []\n\n    def load(self):\n        with open(self.path) as file:\n            self.lines = [line.rstrip() for line in file if line.strip()]\n        return len(self.lines)\n',
	base64, json,
	emoji: '🎉🚀🔥💡📦🧪🙏😀😂🤔👀✅❌🎈🌍🌙⭐🍎🐍🐳'.repeat(4),
	cjk_160: '数据库在夜里自动备份所有表并检查每一页'.repeat(9).slice(0, 160),
	ascii_160: 'The backup of all tables runs at night, and every page is checked. '.repeat(3).slice(0, 160),
};
writeFileSync(new URL('bands.tsv', import.meta.url), '# name, o200k_base and cl100k_base tokens by npm tiktoken, text in hex; by make_vectors.mjs\n' +
	Object.entries(texts).map(([name, text]) => [name, ...encodings.map(([, encoding]) => tokens(encoding, Buffer.from(text)).length),
		Buffer.from(text).toString('hex')].join('\t')).join('\n') + '\n');
console.log(`${rows.length} vectors, ${Object.keys(texts).length} texts`);
