// Who gets one of the places for links. A manual clock.

import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import type { Identity } from '../identity.ts';
import { type LinkPlace, LinkPlaces, usualMaxLinks } from './link-places.ts';

const boss: Identity = {
  ...{ mailbox: 'boss', kind: 'orchestrator', role: null, to: [], expiresAt: null },
};
const worker = (name: string): Identity => ({
  ...{ mailbox: `${name}.mcp`, kind: 'worker', role: 'r', to: ['boss'], expiresAt: null },
});

function places(maxLinks = usualMaxLinks) {
  const clock = manualClock();
  return { clock, all: new LinkPlaces(clock, { maxLinks, maxSeats: 1_024 }) };
}

/** As many as it gets. */
function takeAll(all: LinkPlaces, identity: Identity): readonly LinkPlace[] {
  const taken: LinkPlace[] = [];
  for (;;) {
    const place = all.take(identity);
    if (place === undefined) return taken;
    taken.push(place);
  }
}

describe('the places for links', () => {
  it('are limited for one mailbox, and free again when its links have ended #principal-share', () => {
    const { all } = places();
    const taken = takeAll(all, worker('ann'));
    expect(taken).toHaveLength(1_088);
    for (const place of taken) place.leave();
    expect(takeAll(all, worker('ann'))).toHaveLength(1_088);
  });

  it('are never all taken: there is one for a worker that has none, and one for an orchestrator #principal-share', () => {
    const { all } = places();
    for (let name = 0; name < 6; name += 1) takeAll(all, worker(`w${name}`));
    expect(all.take(worker('late'))).toBeDefined();
    for (let name = 0; name < 2_000; name += 1) takeAll(all, worker(`more-${name}`));
    expect(all.take(worker('last'))).toBeUndefined();
    expect(takeAll(all, boss).length).toBeGreaterThan(100);
  });
});

describe('the rate of a worker', () => {
  it('is one for all of its links, also for the next one #principal-share', () => {
    const { all, clock } = places();
    const [one, two, other] = [
      all.take(worker('ann')),
      all.take(worker('ann')),
      all.take(worker('bob')),
    ];
    for (let frame = 0; frame < 10_000; frame += 1) {
      one?.rate.taken();
      two?.rate.taken();
    }
    expect(two?.rate.taken()).toBeGreaterThan(0);
    expect(other?.rate.taken()).toBe(0);
    for (const place of [one, two]) place?.leave();
    const next = all.take(worker('ann'));
    expect(next?.rate.taken()).toBeGreaterThan(0);
    next?.leave();
    clock.advance(1_000);
    const later = all.take(worker('ann'));
    expect(later?.rate).not.toBe(next?.rate);
  });

  it('is one for each link of an orchestrator', () => {
    const { all } = places();
    expect(all.take(boss)?.rate).not.toBe(all.take(boss)?.rate);
  });
});
