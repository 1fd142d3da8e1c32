import { describe, expect, it } from 'vitest';
import { Fault } from '../kernel/fault.ts';
import { classifyProbe, type ProbeOutcome, type ProbeVerdict } from './classify.ts';

const modern = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
const unreachable = new Fault('unavailable', 'docs cannot be reached (ECONNREFUSED)');
const refused = new Fault('auth_required', 'docs answered HTTP 401', { retryAfterMs: 5 });
const result = (value: unknown): ProbeOutcome => ({ kind: 'result', result: value });
const rpcError = (code: number, data?: unknown): ProbeOutcome => ({
  kind: 'rpc-error',
  code,
  data,
});
const status = (code: number): ProbeOutcome => ({
  kind: 'http-status',
  status: code,
  fault: refused,
});

const judgements: readonly (readonly [string, ProbeOutcome, ProbeVerdict['kind']])[] = [
  ['a modern result', result(modern), 'modern'],
  [
    'a result that names later versions too',
    result({ supportedVersions: ['2099-01-01', '2026-07-28'] }),
    'modern',
  ],
  ['a result without our version', result({ supportedVersions: ['2099-01-01'] }), 'legacy'],
  ['a result without versions', result({}), 'legacy'],
  ['a result with versions that are none', result({ supportedVersions: '2026-07-28' }), 'legacy'],
  ['a result that is no object', result([1]), 'legacy'],
  ['an unknown method', rpcError(-32601), 'legacy'],
  ['invalid parameters', rpcError(-32602), 'legacy'],
  ['a request before initialize', rpcError(-32600, 'initialize first'), 'legacy'],
  [
    'an unsupported version, legacy ones offered',
    rpcError(-32022, { supported: ['2025-06-18'] }),
    'legacy',
  ],
  ['an unsupported version, none offered', rpcError(-32022, { supported: [] }), 'legacy'],
  ['an unsupported version without data', rpcError(-32022), 'legacy'],
  [
    'an unsupported version, none of ours',
    rpcError(-32022, { supported: ['2099-01-01'] }),
    'fault',
  ],
  ['silence', { kind: 'silence' }, 'legacy'],
  ['an exit', { kind: 'exit' }, 'legacy-afresh'],
  ['HTTP 200 with something else than MCP', status(200), 'legacy'],
  ['HTTP 400', status(400), 'legacy'],
  ['HTTP 404', status(404), 'legacy'],
  ['HTTP 405', status(405), 'legacy'],
  ['HTTP 406', status(406), 'legacy'],
  ['HTTP 415', status(415), 'legacy'],
  ['HTTP 401', status(401), 'fault'],
  ['HTTP 403', status(403), 'fault'],
  ['HTTP 429', status(429), 'fault'],
  ['HTTP 500', status(500), 'fault'],
  ['HTTP 503', status(503), 'fault'],
  ['no connection', { kind: 'unreachable', fault: unreachable }, 'fault'],
];

describe('what a server does with the modern probe', () => {
  it.each(judgements)('%s', (_name, outcome, kind) => {
    expect(classifyProbe(outcome).kind).toBe(kind);
  });

  it('returns the discovery for the next step', () => {
    expect(classifyProbe(result(modern))).toEqual({ kind: 'modern', discovery: modern });
  });

  it('names the versions of both sides when there is none in common', () => {
    const verdict = classifyProbe(rpcError(-32022, { supported: ['2099-01-01'] }));
    expect(verdict).toMatchObject({
      fault: {
        code: 'protocol_violation',
        message: expect.stringMatching(/2099-01-01.*2026-07-28.*2025-11-25/),
      },
    });
  });

  it('keeps the fault of the transport where the era is unknown', () => {
    expect(classifyProbe({ kind: 'unreachable', fault: unreachable })).toEqual({
      kind: 'fault',
      fault: unreachable,
    });
    expect(classifyProbe(status(401))).toEqual({ kind: 'fault', fault: refused });
  });
});
