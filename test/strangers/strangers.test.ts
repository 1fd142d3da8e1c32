// The proof in small: a thousand requests that want something started, all that a page can send, and the words of the
// answers to hidden names. How long those take is measured by `npm run strangers`.

import { describe, expect, it } from 'vitest';
import { Dice } from '../support/dice.ts';
import { attempt } from './attempts.ts';
import type { Canary } from './canary.ts';
import { difference, isByChance } from './medians.ts';
import { pageRequests } from './page-requests.ts';
import { pages } from './pages.ts';
import { QuickLine } from './quick-line.ts';
import { starts } from './starts.ts';
import { routes, rpcMethods } from './targets.ts';
import { pairsIn, withoutName } from './timing.ts';
import { World } from './world.ts';

const progress = () => {};

describe('somebody who wants a program started', () => {
  it('gets none, by any route or method, whoever it is #no-foreign-start', async () => {
    const { findings, figures } = await starts({ requests: 1_000, seed: '12', progress });
    expect(findings).toEqual([]);
    const figure = (name: string) => figures.find((one) => one.name === name)?.value;
    expect(figure('requests that want something started')).toBe(1_000);
    expect(figure('of them with the result of a method')).toBeGreaterThan(30);
  });

  it('tries every route with every method of it, and every method of MCP in both eras', () => {
    const canary = { program: '/canary', module: '/canary.cjs', url: 'http://canary' } as Canary;
    const sender = { token: 't', session: 's', messages: '/messages?sessionId=m' };
    const tried = Array.from({ length: 20_000 }, (_, seed) => {
      const {
        method,
        path = '',
        headers = {},
        body,
      } = attempt(sender, canary, new Dice(`${seed}`));
      const era = headers['mcp-method'] === undefined ? 'legacy' : 'modern';
      return { line: `${method} ${path.split('?')[0]}`, rpc: `${era} ${methodIn(body)}` };
    });
    const [lines, methods] = [
      new Set(tried.map(({ line }) => line)),
      new Set(tried.map(({ rpc }) => rpc)),
    ];
    for (const { path, methods: own } of routes) {
      for (const method of own) expect(lines).toContain(`${method} ${named(path)}`);
    }
    for (const era of ['legacy', 'modern']) {
      for (const method of rpcMethods) expect(methods).toContain(`${era} ${method}`);
    }
  });
});

/** As a client names it. */
function named(path: string): string {
  return path.replace(':server', 'seen').replace(':role', 'all');
}

function methodIn(body: unknown): unknown {
  return body !== null && typeof body === 'object' && 'method' in body ? body.method : undefined;
}

describe('a page in a browser', () => {
  it('is refused before its body is read, whatever it sends #http-edge', async () => {
    expect(new Set(pageRequests.map(({ name }) => name)).size).toBe(pageRequests.length);
    expect(pageRequests.length).toBeGreaterThanOrEqual(40);
    const { findings } = await pages();
    expect(findings).toEqual([]);
  });
});

describe('a hidden name', () => {
  it('is answered as one that does not exist, word for word #same-work #roles-deny', async () => {
    await using world = await World.create({ auth: 'token', audit: 'on' });
    await using served = await world.home.serve();
    await world.warm(served);
    using line = await QuickLine.open(Number(new URL(served.url).port));
    for (const { what, hidden, missing } of await pairsIn(world, served, new Dice('1'))) {
      const answers = new Set<string>();
      for (const { bytes, name } of [...hidden, ...missing]) {
        answers.add(withoutName((await line.ask(bytes)).text, name));
      }
      expect([...answers], what).toHaveLength(1);
    }
  });
});

describe('two sets of times', () => {
  /** Around a middle, and now and then far above it, as times are. */
  const times = (middle: number, dice: Dice) =>
    Array.from({ length: 2_000 }, () => {
      const spread = dice.throw() + dice.throw() + dice.throw();
      return middle + 0.02 * spread + (dice.chance(0.05) ? dice.throw() : 0);
    });

  it('of one kind differ by chance', () => {
    const dice = new Dice('one kind');
    const seen = Array.from({ length: 3 }, () =>
      isByChance(difference(times(0.1, dice), times(0.1, dice), dice)),
    );
    expect(seen).toEqual(seen.map(() => true));
  });

  it('of which one is a little later do not', () => {
    const dice = new Dice('two kinds');
    const { ms, limitMs } = difference(times(0.103, dice), times(0.1, dice), dice);
    expect(limitMs).toBeLessThan(0.003);
    expect(isByChance({ ms, limitMs })).toBe(false);
    expect(ms).toBeGreaterThan(0.002);
  });
});
