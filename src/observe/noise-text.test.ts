import { describe, expect, it } from 'vitest';
import type { Noise } from './events.ts';
import { noiseText, noiseTexts } from './noise-text.ts';

describe('what a server sent that belongs to no call', () => {
  it('is described in plain words, with its count #status', () => {
    expect(noiseText('not-json', 1_500)).toBe('printed 1500 lines to stdout that are not MCP');
    expect(noiseText('not-json', 1)).toBe('printed 1 line to stdout that is not MCP');
    expect(noiseText('duplicate-answer', 2)).toBe('answered 2 requests a second time');
    expect(noiseText('constructor' as Noise, 2)).toBe('sent 2 messages that belong to no call');
  });

  it('is listed with the most frequent first', () => {
    expect(noiseTexts({ 'late-answer': 1, 'not-json': 30 })).toEqual([
      'printed 30 lines to stdout that are not MCP',
      'answered 1 request after the caller had stopped waiting',
    ]);
    expect(noiseTexts({})).toEqual([]);
  });
});
