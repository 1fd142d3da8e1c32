// Decides which era a server supports, from its reaction to the modern probe (`server/discover`); a
// pure function between closed unions. Anything that is not a modern answer means legacy, except
// reactions that say nothing about the era, such as a refused connection, a missing login or a
// crashed backend.

import { Fault } from '../kernel/fault.ts';
import { isRecord } from '../kernel/json-values.ts';
import { legacyVersions, modernVersion, rpcCodes } from '../wire/eras.ts';

export type ProbeOutcome =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'rpc-error'; readonly code: number; readonly data: unknown }
  | { readonly kind: 'http-status'; readonly status: number; readonly fault: Fault }
  | { readonly kind: 'silence' }
  /** The process ended while the probe was open. */
  | { readonly kind: 'exit' }
  /** The frame never arrived, or the server cannot be reached. */
  | { readonly kind: 'unreachable'; readonly fault: Fault };

export type ProbeVerdict =
  | { readonly kind: 'modern'; readonly discovery: Readonly<Record<string, unknown>> }
  | { readonly kind: 'legacy' }
  /** Start it again and go straight to `initialize`: the probe itself ended it. */
  | { readonly kind: 'legacy-afresh' }
  | { readonly kind: 'fault'; readonly fault: Fault };

const legacy: ProbeVerdict = { kind: 'legacy' };

export function classifyProbe(outcome: ProbeOutcome): ProbeVerdict {
  switch (outcome.kind) {
    case 'result':
      return classifyResult(outcome.result);
    case 'rpc-error':
      return outcome.code === rpcCodes.unsupportedProtocolVersion
        ? classifyVersions(supportedFrom(outcome.data))
        : legacy;
    case 'http-status':
      return saysNothing(outcome.status) ? { kind: 'fault', fault: outcome.fault } : legacy;
    case 'silence':
      return legacy;
    case 'exit':
      return { kind: 'legacy-afresh' };
    case 'unreachable':
      return { kind: 'fault', fault: outcome.fault };
  }
}

function classifyResult(result: unknown): ProbeVerdict {
  if (!isRecord(result)) return legacy;
  const supported = supportedFrom({ supported: result['supportedVersions'] });
  return supported.includes(modernVersion) ? { kind: 'modern', discovery: result } : legacy;
}

function classifyVersions(supported: readonly string[]): ProbeVerdict {
  const known: readonly string[] = legacyVersions;
  if (supported.length === 0 || supported.some((version) => known.includes(version))) return legacy;
  return {
    kind: 'fault',
    fault: new Fault(
      'protocol_violation',
      `the server supports only MCP ${supported.join(', ')}; Holdfast supports ${modernVersion} and ${legacyVersions.join(', ')}`,
      { dispatched: 'yes' },
    ),
  };
}

/** A missing login or a crashed backend says nothing about the era. */
function saysNothing(status: number): boolean {
  return status === 401 || status === 403 || status === 429 || status >= 500;
}

function supportedFrom(data: unknown): readonly string[] {
  const supported = isRecord(data) ? data['supported'] : undefined;
  return Array.isArray(supported) ? supported.filter((v) => typeof v === 'string') : [];
}
