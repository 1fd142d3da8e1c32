// What came back on a socket, taken apart into responses by the rules of HTTP/1.1 (RFC 9112, 6.3), and
// held against what every answer of the gateway must be: never a defect's, never a page, never a stack
// trace; JSON where it says so; and JSON-RPC where it speaks JSON-RPC.

import { agree, shortly } from './disagreement.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** `isHead` says of each response, by its number, whether it answers a HEAD. */
export function answersIn(
  bytes: Buffer,
  isHead: (at: number) => boolean,
): {
  readonly answers: readonly HttpAnswer[];
  readonly rest: Buffer;
} {
  const answers: HttpAnswer[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) break;
    const [first = '', ...lines] = rest.toString('latin1', 0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/.exec(first)?.[1]);
    agree(status > 0, () => `a response begins with ${shortly(first)}`);
    const headers = new Map(lines.map((line) => splitHeader(line)));
    const start = end + 4;
    if (status < 200) {
      rest = rest.subarray(start);
      continue;
    }
    const isBare = status === 204 || status === 304 || isHead(answers.length);
    const body = isBare ? { bytes: Buffer.alloc(0), end: start } : bodyOf(rest, start, headers);
    if (body === undefined) break;
    answers.push({ status, headers, body: body.bytes });
    rest = rest.subarray(body.end);
  }
  return { answers, rest };
}

function splitHeader(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  agree(colon > 0, () => `a response has the header ${shortly(line)}`);
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

/** Undefined while it is not whole. */
function bodyOf(
  bytes: Buffer,
  start: number,
  headers: ReadonlyMap<string, string>,
): { readonly bytes: Buffer; readonly end: number } | undefined {
  if (headers.get('transfer-encoding') === 'chunked') return unchunked(bytes, start);
  const length = headers.get('content-length');
  // Without a length it ends with the connection: that is how Node itself refuses.
  if (length === undefined) return { bytes: bytes.subarray(start), end: bytes.length };
  const end = start + Number(length);
  return end > bytes.length ? undefined : { bytes: bytes.subarray(start, end), end };
}

function unchunked(bytes: Buffer, start: number) {
  const pieces: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    agree(size >= 0, () => 'a response has a chunk without a size');
    const end = lineEnd + 2 + size + 2;
    if (end > bytes.length) return undefined;
    if (size === 0) return { bytes: Buffer.concat(pieces), end };
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = end;
  }
}

/** What holds for every answer, whatever was asked. */
export function checkAnswer({ status, headers, body }: HttpAnswer): void {
  const text = body.toString();
  agree(status < 500, () => `the answer is ${status}: ${shortly(text)}`);
  agree(!/<(?:!doctype|html)/i.test(text), () => `the answer is a page: ${shortly(text)}`);
  agree(
    !/\n\s+at |node:internal|\.(?:js|ts):\d/.test(text),
    () => `the answer is a stack trace: ${shortly(text)}`,
  );
  const type = headers.get('content-type');
  if (type === 'application/json')
    agree(isJson(text), () => `the answer is not JSON: ${shortly(text)}`);
  else if (type !== 'text/event-stream')
    agree(text === '', () => `the answer is ${type}: ${shortly(text)}`);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Did the parser of HTTP refuse it, before anything of ours was asked? */
export function isOfParser({ status, headers, body }: HttpAnswer): boolean {
  return (
    [400, 408, 413, 417, 431].includes(status) && !headers.has('content-type') && body.length === 0
  );
}

interface RpcShape {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code?: unknown; readonly message?: unknown };
}

/** The error of an answer that must be one of JSON-RPC; its code. */
export function rpcErrorIn({ body }: HttpAnswer): { readonly code: number; readonly id: unknown } {
  const { jsonrpc, id, error } = JSON.parse(body.toString()) as RpcShape;
  const isError =
    jsonrpc === '2.0' && typeof error?.code === 'number' && typeof error.message === 'string';
  agree(isError, () => `the answer is no error of JSON-RPC: ${shortly(body.toString())}`);
  return { code: error?.code as number, id };
}

/** The id of an answer that must be a result. */
export function rpcResultId({ body }: HttpAnswer): unknown {
  const text = body.toString();
  const { jsonrpc, id, result } = JSON.parse(text) as RpcShape;
  agree(
    jsonrpc === '2.0' && result !== undefined,
    () => `the answer is no result: ${shortly(text)}`,
  );
  return id;
}
