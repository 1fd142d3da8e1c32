import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CachedRequest,
  freshness,
  maxTtlMs,
  mayBeCached,
  type ResultHints,
} from './freshness.ts';

const catalogue: CachedRequest = { kind: 'catalogue' };
const no = { cacheable: false };

function tool(facts: Partial<Extract<CachedRequest, { kind: 'tool' }>> = {}): CachedRequest {
  return { kind: 'tool', readOnlyHint: true, trusted: true, cacheMs: null, ...facts };
}

function hints(facts: Partial<ResultHints> = {}): ResultHints {
  return {
    ttlMs: 5_000,
    cacheScope: 'public',
    isError: undefined,
    resultType: 'complete',
    ...facts,
  };
}

describe('freshness', () => {
  it('caches a catalogue result as its server says', () => {
    expect(freshness(catalogue, hints(), false)).toEqual({
      cacheable: true,
      ttlMs: 5_000,
      scope: 'public',
    });
  });

  it('keeps the tool result of a trusted read-only tool for as long as the server says', () => {
    expect(freshness(tool(), hints(), false)).toMatchObject({ cacheable: true, ttlMs: 5_000 });
  });

  it.each([
    ['a server that is not trusted', tool({ trusted: false })],
    ['a tool that is not read-only', tool({ readOnlyHint: false })],
    ['an operator who says never', tool({ cacheMs: 0 })],
  ])('keeps no tool result of %s', (_, subject) => {
    expect(freshness(subject, hints(), false)).toEqual(no);
    expect(mayBeCached(subject, false)).toBe(false);
  });

  it('follows the operator against every hint', () => {
    const subject = tool({ trusted: false, readOnlyHint: false, cacheMs: 700 });
    expect(freshness(subject, hints({ ttlMs: undefined }), false)).toMatchObject({ ttlMs: 700 });
    expect(freshness(subject, hints({ ttlMs: 1 }), false)).toMatchObject({ ttlMs: 700 });
  });

  it.each([undefined, null, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5000', true, {}])(
    'takes a time of %s for none',
    (ttlMs) => {
      expect(freshness(catalogue, hints({ ttlMs }), false)).toEqual(no);
    },
  );

  it('limits a time to 24 hours, wherever it comes from', () => {
    expect(freshness(catalogue, hints({ ttlMs: 1e300 }), false)).toMatchObject({
      ttlMs: maxTtlMs,
    });
    expect(freshness(tool({ cacheMs: 1e12 }), hints(), false)).toMatchObject({ ttlMs: maxTtlMs });
  });

  it.each([undefined, null, '', 'Public', 'shared', 1, 'private'])(
    'takes the scope %s for private',
    (cacheScope) => {
      expect(freshness(catalogue, hints({ cacheScope }), false)).toMatchObject({
        scope: 'private',
      });
    },
  );

  it.each([
    ['an error', hints({ isError: true })],
    ['something like an error', hints({ isError: 'no' })],
    ['a question back', hints({ resultType: 'input_required' })],
    ['a task', hints({ resultType: 'task' })],
    ['a type we do not know', hints({ resultType: 'partial' })],
    ['a type that is not text', hints({ resultType: null })],
  ])('never keeps %s', (_, result) => {
    for (const subject of [catalogue, tool(), tool({ cacheMs: 1_000 })]) {
      expect(freshness(subject, result, false)).toEqual(no);
    }
  });

  it('never keeps the result of a request of several rounds', () => {
    for (const subject of [catalogue, tool(), tool({ cacheMs: 1_000 })]) {
      expect(freshness(subject, hints(), true)).toEqual(no);
      expect(mayBeCached(subject, true)).toBe(false);
    }
  });

  it('takes a legacy result, which has no type, for complete', () => {
    expect(freshness(catalogue, hints({ resultType: undefined }), false).cacheable).toBe(true);
  });

  it('never keeps what it said before the call could not be kept', () => {
    fc.assert(
      fc.property(
        fc.record({
          readOnlyHint: fc.boolean(),
          trusted: fc.boolean(),
          cacheMs: fc.option(fc.nat()),
        }),
        fc.anything(),
        fc.boolean(),
        (facts, ttlMs, isMultiRound) => {
          const subject = tool(facts);
          const verdict = freshness(subject, hints({ ttlMs }), isMultiRound);
          expect(verdict.cacheable && !mayBeCached(subject, isMultiRound)).toBe(false);
        },
      ),
    );
  });
});
