// Compares the headers of a modern request with its body. It states the main things twice: in its
// body, and in headers for proxies that do not read bodies. If the two disagree, a proxy has
// decided by something else than we would execute, so the request is refused. The body decides what
// the request is; headers only confirm it.

import { ownValue } from '../../../kernel/own-value.ts';
import { textOf } from '../../../wire/decode.ts';
import type { EnvelopeKey } from '../../../wire/envelope-keys.ts';
import { modernVersion, rpcCodes } from '../../../wire/eras.ts';
import type { ErrorToSend } from '../../../wire/frames.ts';
import { mirroredValue } from '../../../wire/mirrored-headers.ts';
import type { Message } from '../../../wire/scan.ts';
import { type Span, spells } from '../../../wire/span.ts';
import type { EnvelopeVerdict } from '../../clients/modern-envelope.ts';

/** The headers of a request as Node has them: names in lower case. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Which member of the params the header `Mcp-Name` repeats, for the methods that have one. */
const nameSources: Readonly<Record<string, EnvelopeKey>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/**
 * Why a message with a valid envelope is refused, if it is. Headers that are sent must agree; only
 * requests must send them. An unsupported version is reported only to clients whose headers agree
 * about it.
 */
export function headerRefusal(
  message: Message,
  verdict: Extract<EnvelopeVerdict, { kind: 'modern' | 'unsupported' }>,
  headers: Headers,
): ErrorToSend | undefined {
  const version = headers['mcp-protocol-version'];
  const method = headers['mcp-method'];
  const claimed = verdict.kind === 'modern' ? modernVersion : verdict.requested;
  if (version !== undefined && version !== claimed) {
    return mismatch('MCP-Protocol-Version', version, `the body is of revision ${claimed}`);
  }
  if (method !== undefined && method !== message.method) {
    return mismatch('Mcp-Method', method, `the method of the body is ${message.method}`);
  }
  if (verdict.kind === 'unsupported') return verdict.refusal;
  if (message.kind !== 'request') return undefined;
  if (version === undefined) return missing('MCP-Protocol-Version', claimed);
  if (method === undefined) return missing('Mcp-Method', message.method ?? '');
  return nameRefusal(message, headers['mcp-name']);
}

function nameRefusal(
  message: Message,
  header: string | string[] | undefined,
): ErrorToSend | undefined {
  const source = sourceOf(message.method ?? '');
  if (source === undefined) return undefined;
  const { bytes } = message;
  const span = message.paramsObject?.find(source);
  if (typeof header !== 'string') {
    const text = span === undefined ? undefined : textOf(bytes, span);
    return text === undefined ? undefined : missing('Mcp-Name', text);
  }
  if (span !== undefined && isPlainly(header, bytes, span)) return undefined;
  const named = mirroredValue(header);
  if (named === undefined) return mismatch('Mcp-Name', header, 'this is not valid base64');
  const text = span === undefined ? undefined : textOf(bytes, span);
  if (text === undefined || text === named) return undefined;
  return mismatch('Mcp-Name', header, `params.${source} of the body is ${JSON.stringify(text)}`);
}

/** The usual case: neither side is encoded, and both are the same characters. */
function isPlainly(header: string, bytes: Buffer, span: Span): boolean {
  if (header.startsWith('=?') || header.includes('\\')) return false;
  return spells(bytes, span.start + 1, span.end - 1, header);
}

function sourceOf(method: string): EnvelopeKey | undefined {
  if (method === 'tools/call') return 'name';
  return ownValue(nameSources, method);
}

/** The refusal of a header that says something else than the body. */
export function mismatch(name: string, value: string | string[], body: string): ErrorToSend {
  return {
    code: rpcCodes.headerMismatch,
    message: `Header mismatch: ${name} is ${JSON.stringify(value)}, but ${body}`,
    data: JSON.stringify({ mismatch: { header: name, value, body } }),
  };
}

/** The refusal of a body whose header is not there. */
export function missing(name: string, expected: string): ErrorToSend {
  return {
    code: rpcCodes.headerMismatch,
    message: `Header mismatch: ${name} is missing, and must be ${JSON.stringify(expected)}`,
    data: JSON.stringify({ mismatch: { header: name, value: null, body: expected } }),
  };
}
