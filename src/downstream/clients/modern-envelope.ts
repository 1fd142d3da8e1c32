// The envelope of a modern request: the members of `params._meta` in which every request states its
// version and its client's capabilities. This file decides whether a message is modern, and refuses
// an envelope that is invalid or of another version; an invalid one is never treated as a legacy
// message. Every transport uses the same decision. Nothing is parsed: the members are read at their
// positions.

import { isLogLevel, logLevels } from '../../host/connections/log-level.ts';
import { textOf } from '../../wire/decode.ts';
import { envelopeKeys, modernVersion, rpcCodes } from '../../wire/eras.ts';
import type { ErrorToSend } from '../../wire/frames.ts';
import type { Message } from '../../wire/scan.ts';
import { type ObjectSpan, type Span, spells } from '../../wire/span.ts';

export type EnvelopeVerdict =
  /** It does not claim to be modern. */
  | { readonly kind: 'none' }
  | { readonly kind: 'modern' }
  /** A sound envelope of a revision that is not served. */
  | { readonly kind: 'unsupported'; readonly requested: string; readonly refusal: ErrorToSend }
  | { readonly kind: 'invalid'; readonly refusal: ErrorToSend };

const none: EnvelopeVerdict = { kind: 'none' };
const modern: EnvelopeVerdict = { kind: 'modern' };
const quotedVersion = `"${modernVersion}"`;
const openBrace = 0x7b;

/** Checks a request or a notification. Of a notification only the version is required. */
export function judgeEnvelope(message: Message): EnvelopeVerdict {
  const { bytes, meta } = message;
  const version = meta?.find(envelopeKeys.protocolVersion);
  if (meta === undefined || version === undefined) return none;
  const problem = message.kind === 'request' ? firstProblem(bytes, meta) : undefined;
  if (problem !== undefined) return { kind: 'invalid', refusal: problem };
  if (spells(bytes, version.start, version.end, quotedVersion)) return modern;
  const requested = textOf(bytes, version);
  if (requested === undefined) {
    const refusal = broken(envelopeKeys.protocolVersion, 'must be a string');
    return { kind: 'invalid', refusal };
  }
  // The same version, written with escapes.
  if (requested === modernVersion) return modern;
  return { kind: 'unsupported', requested, refusal: unsupportedVersion(requested) };
}

/** The answer to a request of a revision that is not served. */
export function unsupportedVersion(requested: string): ErrorToSend {
  return {
    code: rpcCodes.unsupportedProtocolVersion,
    message: `Unsupported protocol version: ${requested} is not supported here, ${modernVersion} is`,
    data: JSON.stringify({ supported: [modernVersion], requested }),
  };
}

/** The answer to a request that must be modern, by what is known from elsewhere, and has no envelope. */
export function missingEnvelope(message: Message): ErrorToSend {
  const { meta } = message;
  const required = [envelopeKeys.protocolVersion, envelopeKeys.clientCapabilities];
  const missing =
    meta === undefined ? ['_meta'] : required.filter((key) => meta.find(key) === undefined);
  return {
    code: rpcCodes.invalidParams,
    message: `Invalid params: a request of ${modernVersion} must carry ${missing.join(' and ')}`,
    data: JSON.stringify({ envelope: { missing } }),
  };
}

function firstProblem(bytes: Buffer, meta: ObjectSpan): ErrorToSend | undefined {
  const capabilities = meta.find(envelopeKeys.clientCapabilities);
  if (capabilities === undefined) return broken(envelopeKeys.clientCapabilities, 'missing');
  if (!isObject(bytes, capabilities)) {
    return broken(envelopeKeys.clientCapabilities, 'must be an object');
  }
  const info = meta.find(envelopeKeys.clientInfo);
  if (info !== undefined && !isObject(bytes, info)) {
    return broken(envelopeKeys.clientInfo, 'must be an object');
  }
  const level = meta.find(envelopeKeys.logLevel);
  if (level !== undefined && !isLogLevel(textOf(bytes, level) ?? '')) {
    return broken(envelopeKeys.logLevel, `must be one of ${logLevels.join(', ')}`);
  }
  return undefined;
}

function isObject(bytes: Buffer, span: Span): boolean {
  return bytes[span.start] === openBrace;
}

function broken(key: string, problem: string): ErrorToSend {
  return {
    code: rpcCodes.invalidParams,
    message: `Invalid params: the _meta of a request of ${modernVersion}: ${key}: ${problem}`,
    data: JSON.stringify({ envelope: { key, problem } }),
  };
}
