// Texts for messages of a server that belong to no call. Each is one sentence about the server with
// a count; the timeline, the status page and health use the same texts.

import { ownValue } from '../kernel/own-value.ts';
import type { Noise } from './events.ts';

/** How much of each kind a server has sent; kinds that were not seen are absent. */
export type NoiseCounts = Readonly<Partial<Record<Noise, number>>>;

const words: Readonly<Record<Noise, (count: number) => string>> = {
  'not-json': (count) =>
    count === 1
      ? 'printed 1 line to stdout that is not MCP'
      : `printed ${count} lines to stdout that are not MCP`,
  'invalid-message': (count) => `sent ${some(count, 'message')} that cannot be read`,
  'unknown-id': (count) => `sent ${some(count, 'answer')} that match no request`,
  'late-answer': (count) =>
    `answered ${some(count, 'request')} after the caller had stopped waiting`,
  'duplicate-answer': (count) => `answered ${some(count, 'request')} a second time`,
  'oversized-frame': (count) => `sent ${some(count, 'message')} beyond limits.frameBytes`,
  'unanswerable-request': (count) =>
    `sent ${some(count, 'request')} that its protocol version does not have`,
  'unowned-notification': (count) =>
    `sent ${some(count, 'notification')} that cannot be assigned to a client`,
};

export function noiseText(noise: Noise, count: number): string {
  // A log written by another version may contain kinds that this one does not have.
  return ownValue(words, noise)?.(count) ?? `sent ${some(count, 'message')} that belong to no call`;
}

/** One sentence for each kind that was seen, most frequent first. */
export function noiseTexts(counts: NoiseCounts): string[] {
  return (Object.entries(counts) as [Noise, number][])
    .sort(([, one], [, other]) => other - one)
    .map(([noise, count]) => noiseText(noise, count));
}

function some(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
