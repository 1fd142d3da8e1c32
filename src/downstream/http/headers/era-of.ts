// Decides the era of a message that came by POST. The body decides: an envelope makes it modern,
// its absence legacy. Headers never change that; where they contradict it, the message is refused.
// Only a notification without an envelope goes by its header, because modern ones need none. The
// result is a closed union, and nothing is done here.

import { modernVersion } from '../../../wire/eras.ts';
import type { ErrorToSend } from '../../../wire/frames.ts';
import type { Message } from '../../../wire/scan.ts';
import { judgeEnvelope, missingEnvelope } from '../../clients/modern-envelope.ts';
import { type Headers, headerRefusal, mismatch } from './header-agreement.ts';

export type EraVerdict =
  | { readonly kind: 'modern' }
  | { readonly kind: 'legacy' }
  | { readonly kind: 'refused'; readonly refusal: ErrorToSend };

const modern: EraVerdict = { kind: 'modern' };
const legacy: EraVerdict = { kind: 'legacy' };

export function eraOf(message: Message, headers: Headers): EraVerdict {
  if (message.kind === 'result' || message.kind === 'error') return legacy;
  const verdict = judgeEnvelope(message);
  // A legacy `initialize` is legacy, unless it has a valid envelope.
  const isHandshake = message.kind === 'request' && message.method === 'initialize';
  if (isHandshake && verdict.kind !== 'modern') return handshake(headers);
  switch (verdict.kind) {
    case 'none':
      return withoutEnvelope(message, headers);
    case 'invalid':
      return { kind: 'refused', refusal: verdict.refusal };
    default: {
      const refusal = headerRefusal(message, verdict, headers);
      return refusal === undefined ? modern : { kind: 'refused', refusal };
    }
  }
}

/** Revisions are dates, so their order is that of their letters. */
export function isModernVersion(header: string | string[] | undefined): boolean {
  return typeof header === 'string' && header >= modernVersion;
}

function handshake(headers: Headers): EraVerdict {
  const version = headers['mcp-protocol-version'];
  if (version === undefined || !isModernVersion(version)) return legacy;
  const body = 'initialize belongs to the revisions before it';
  return { kind: 'refused', refusal: mismatch('MCP-Protocol-Version', version, body) };
}

function withoutEnvelope(message: Message, headers: Headers): EraVerdict {
  const { 'mcp-protocol-version': version, 'mcp-method': method } = headers;
  if (!isModernVersion(version)) return legacy;
  if (message.kind === 'request') return { kind: 'refused', refusal: missingEnvelope(message) };
  if (method === undefined || method === message.method) return modern;
  const body = `the method of the body is ${message.method}`;
  return { kind: 'refused', refusal: mismatch('Mcp-Method', method, body) };
}
