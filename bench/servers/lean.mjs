// The server behind every subject of the gateway benchmark. It must never be what is measured, so
// it does the least that is still MCP: blocking reads and writes without an event loop, a call's id
// found by searching its line, answers built once. Each answer is a write of its own, as it is with
// servers of the SDK. `initialize`, `server/discover`, `tools/list` and `ping` are answered properly,
// for clients of both eras. No member but the message's own may be called `id` in what is sent to it.
// The first argument says how many bytes the large text has (5 MB), the second ("reads") that its tools only read.

import { readSync, writeSync } from 'node:fs';

const chunk = Buffer.allocUnsafeSlow(1 << 20);
const bigBytes = Number(process.argv[2] ?? 5_000_000);
const annotations = process.argv[3] === 'reads' ? { readOnlyHint: true } : undefined;
const handshakes = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'lean', version: '1.0.0' },
  }),
  'server/discover': () => ({
    ...complete,
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    ttlMs: 3_600_000,
    cacheScope: 'public',
  }),
  'tools/list': () => ({
    ...complete,
    tools: [...tails.keys()].map((name) => ({
      name,
      inputSchema: { type: 'object' },
      annotations,
    })),
    ttlMs: 3_600_000,
    cacheScope: 'public',
  }),
  ping: () => ({}),
};
const complete = {
  resultType: 'complete',
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'lean', version: '1.0.0' } },
};

const tails = new Map([
  ['echo', tailOf(textOf(850))],
  ['big_text', Buffer.from(tailOf(textOf(bigBytes)))],
  ['big_rows', Buffer.from(tailOf('5 MB of rows', { rows: rowsOf(5_000_000) }))],
]);
const echoTail = tails.get('echo');

serve();

function serve() {
  let rest = '';
  for (;;) {
    const read = readSync(0, chunk);
    if (read === 0) return;
    const text = rest + chunk.latin1Slice(0, read);
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      answer(text.slice(start, end));
      start = end + 1;
    }
    rest = text.slice(start);
  }
}

function answer(line) {
  const big = bigTailFor(line);
  if (big) {
    writeWhole(Buffer.from(headFor(line), 'latin1'));
    writeWhole(big);
  } else if (line.includes('"tools/call"')) {
    writeSync(1, headFor(line) + echoTail, null, 'latin1');
  } else {
    writeSync(1, reply(line));
  }
}

function headFor(line) {
  const at = line.indexOf('"id":') + 5;
  let end = at + 1;
  while (line[end] !== ',' && line[end] !== '}') end += 1;
  return `{"jsonrpc":"2.0","id":${line.slice(at, end)}`;
}

function bigTailFor(line) {
  if (line.includes('"big_text"')) return tails.get('big_text');
  return line.includes('"big_rows"') ? tails.get('big_rows') : undefined;
}

function reply(line) {
  const { id, method, params } = JSON.parse(Buffer.from(line, 'latin1').toString());
  if (id === undefined) return '';
  const handshake = handshakes[method];
  const outcome = handshake
    ? { result: handshake(params) }
    : { error: { code: -32601, message: 'Method not found' } };
  return `${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`;
}

/** What follows the id in the answer to a call. */
function tailOf(text, structuredContent) {
  const result = { ...complete, content: [{ type: 'text', text }], structuredContent };
  return `,"result":${JSON.stringify(result)}}\n`;
}

/** Prose with quotes and line breaks, as a file or a log has them: an escape every 27 characters. */
function textOf(bytes) {
  const line = 'src/relay.ts:120 "the frame" was cut on the line feed, never inside of a string\n';
  return line.repeat(Math.ceil(bytes / 84)).slice(0, Math.floor((bytes / 84) * 81));
}

function rowsOf(bytes) {
  const row = {
    name: 'relay',
    path: 'src/wire/relay.ts',
    line: 120,
    score: 0.25,
    tags: ['a', 'b'],
  };
  return Array(Math.floor(bytes / JSON.stringify(row).length)).fill(row);
}

/** A blocking pipe takes part of a large write at a time. */
function writeWhole(bytes) {
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}
