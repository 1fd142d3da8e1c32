// Many workers in small: the same function as `npm run fleet`.

import { describe, expect, it } from 'vitest';
import { callByCrowd } from './crowd.ts';

describe.each(['command', 'nats'] as const)('twenty workers on the broker %s', (broker) => {
  it('each get their own answers, and every call runs once #fleet #broker-once', async () => {
    const { seconds: _, ...found } = await callByCrowd({
      broker,
      workers: 20,
      calls: 5,
      processes: 2,
    });
    expect(found).toEqual({ calls: 100, wrong: [], lost: [], twice: [] });
  });
});
