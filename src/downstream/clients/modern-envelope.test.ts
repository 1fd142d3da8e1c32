import { describe, expect, it } from 'vitest';
import { scanMessage } from '../../wire/scan.ts';
import { judgeEnvelope, missingEnvelope, unsupportedVersion } from './modern-envelope.ts';

const prefix = 'io.modelcontextprotocol/';
const sound = {
  [`${prefix}protocolVersion`]: '2026-07-28',
  [`${prefix}clientInfo`]: { name: 'a', version: '1' },
  [`${prefix}clientCapabilities`]: {},
};

function message(meta: unknown, more: object = { id: 1 }) {
  const params = meta === undefined ? {} : { _meta: meta };
  return scanMessage(
    Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'tools/list', params, ...more })),
  );
}

const judge = (meta: unknown, more?: object) => judgeEnvelope(message(meta, more));

describe('the envelope of a modern request', () => {
  it('is sound with a revision and the capabilities', () => {
    expect(judge(sound)).toEqual({ kind: 'modern' });
    const { [`${prefix}clientInfo`]: _, ...bare } = sound;
    expect(judge(bare)).toEqual({ kind: 'modern' });
    expect(judge({ ...sound, [`${prefix}logLevel`]: 'warning', foreign: [1] })).toEqual({
      kind: 'modern',
    });
  });

  it('is the same when its keys and values are written with escapes', () => {
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x', params: { _meta: sound } });
    const escaped = text.replaceAll('/', '\\/').replace('2026-07-28', '2026-07-2\\u0038');
    expect(judgeEnvelope(scanMessage(Buffer.from(escaped)))).toEqual({ kind: 'modern' });
  });

  it.each([
    ['there are no params', undefined],
    ['_meta is empty', {}],
    ['_meta is not an object', 'x'],
    ['only other keys are there', { progressToken: 1, [`${prefix}clientCapabilities`]: {} }],
  ])('is not claimed where %s', (_, meta) => {
    expect(judge(meta)).toEqual({ kind: 'none' });
  });

  it.each([
    ['the capabilities are missing', { ...sound, [`${prefix}clientCapabilities`]: undefined }],
    ['the capabilities are a list', { ...sound, [`${prefix}clientCapabilities`]: [] }],
    ['the client is a name', { ...sound, [`${prefix}clientInfo`]: 'me' }],
    ['the log level is unknown', { ...sound, [`${prefix}logLevel`]: 'loud' }],
    ['the log level is a number', { ...sound, [`${prefix}logLevel`]: 3 }],
    ['the revision is a number', { ...sound, [`${prefix}protocolVersion`]: 20_260_728 }],
  ])('is refused, not taken for legacy, where %s', (_, meta) => {
    const verdict = judge(meta);
    expect(verdict).toMatchObject({ kind: 'invalid', refusal: { code: -32602 } });
  });

  it.each(['2025-11-25', '2027-01-01', 'v999', ''])(
    'of the revision %j is told which one is served',
    (version) => {
      const verdict = judge({ ...sound, [`${prefix}protocolVersion`]: version });
      expect(verdict).toMatchObject({
        kind: 'unsupported',
        requested: version,
        refusal: { code: -32022 },
      });
      const data = verdict.kind === 'unsupported' ? verdict.refusal.data : undefined;
      expect(JSON.parse(data ?? '')).toEqual({ supported: ['2026-07-28'], requested: version });
    },
  );

  it('needs only a revision on a notification', () => {
    const meta = { [`${prefix}protocolVersion`]: '2026-07-28' };
    expect(judge(meta, {})).toEqual({ kind: 'modern' });
    expect(judge({ [`${prefix}protocolVersion`]: 1 }, {})).toMatchObject({ kind: 'invalid' });
  });
});

describe('the refusal of a request without an envelope', () => {
  it('names what is missing', () => {
    const missingIn = (meta: unknown) => JSON.parse(missingEnvelope(message(meta)).data ?? '');
    expect(missingIn(undefined)).toEqual({ envelope: { missing: ['_meta'] } });
    expect(missingIn({ [`${prefix}clientCapabilities`]: {} })).toEqual({
      envelope: { missing: [`${prefix}protocolVersion`] },
    });
  });

  it('quotes a version that is hostile to JSON', () => {
    const requested = '"}\u0000\n';
    expect(JSON.parse(unsupportedVersion(requested).data ?? '')).toMatchObject({ requested });
  });
});
