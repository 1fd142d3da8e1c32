// Every input that ever found something, once more.

import { describe, expect, it } from 'vitest';
import { buildFolder as build } from '../support/build.ts';
import { replayHttp } from './http.ts';
import { keptInputs, type Parser } from './kept-inputs.ts';
import { replayed } from './replay.ts';

async function wrongIn(parser: Parser): Promise<string[]> {
  const wrong: string[] = [];
  for (const { name, bytes } of keptInputs(parser)) {
    const says = await replayed(parser, bytes, build);
    if (says !== undefined) wrong.push(`${name}: ${says}`);
  }
  return wrong;
}

describe('the kept inputs', () => {
  it.each(['scanner', 'lines', 'events', 'config', 'stdio'] as const)(
    'for the %s hold no surprise any more',
    async (parser) => {
      expect(keptInputs(parser).length).toBeGreaterThan(0);
      expect(await wrongIn(parser)).toEqual([]);
    },
  );

  it('for http leave the gateway as it was #bad-input', async () => {
    expect(await replayHttp(build, keptInputs('http'))).toEqual([]);
  });
});
