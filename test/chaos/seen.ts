// What an answer says, as its client reads it: a result, an error of the tool, an error of the
// protocol, or a fault of the gateway with its record.

import { createHash } from 'node:crypto';
import type { AnswerSeen, FaultSeen } from './history.ts';

export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: {
    readonly isError?: boolean;
    readonly structuredContent?: Readonly<Record<string, unknown>>;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
  readonly error?: { readonly code: number; readonly data?: unknown };
}

export function seenIn({ result, error }: Message): AnswerSeen {
  const fault = result?._meta?.['holdfast/fault'] ?? faultIn(error?.data);
  if (fault !== undefined) return { kind: 'fault', fault: fault as FaultSeen };
  if (result === undefined) {
    return { kind: 'rpc-error', ...(error === undefined ? {} : { rpc: error.code }) };
  }
  const echo = echoIn(result.structuredContent);
  const roots = rootsIn(result.structuredContent);
  const kind = result.isError === true ? 'tool-error' : 'result';
  return {
    kind,
    ...(echo === undefined ? {} : { echo }),
    ...(roots === undefined ? {} : { roots }),
  };
}

/** Of what its server said, which is the same in both eras. */
export function digestOf({ result }: Message): string {
  const text = JSON.stringify(result?.structuredContent ?? null);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function faultIn(data: unknown): unknown {
  return typeof data === 'object' && data !== null && 'dispatched' in data ? data : undefined;
}

/** `echo` repeats the nonce; `add`, `append` and `set` name the key, which is the nonce. */
function echoIn(content: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const word = content?.['nonce'] ?? content?.['key'];
  return typeof word === 'string' ? word : undefined;
}

/** `roots` tells what its server was told. */
function rootsIn(
  content: Readonly<Record<string, unknown>> | undefined,
): readonly string[] | undefined {
  const roots = content?.['roots'];
  return Array.isArray(roots) ? roots.map(String) : undefined;
}
