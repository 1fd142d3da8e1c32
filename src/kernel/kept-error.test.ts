import { describe, expect, it } from 'vitest';
import { collectGarbage } from '../../test/support/memory.ts';
import { Fault } from './fault.ts';
import { forKeeping } from './kept-error.ts';

/** A connection that fails while one of its methods runs. */
class Connection {
  readonly buffer = new Array<number>(1_000).fill(1);

  fail(depth: number): Fault {
    const cause = depth === 0 ? undefined : this.fail(depth - 1);
    return new Fault('unavailable', `it failed with ${this.buffer.length}`, {}, cause);
  }
}

/** A fault of a connection that nothing else holds. */
function failed(depth: number, keep: (fault: Fault) => Fault): [Fault, WeakRef<Connection>] {
  const connection = new Connection();
  return [keep(connection.fail(depth)), new WeakRef(connection)];
}

/**
 * A weak reference holds until the task that made it is over, and a collection that had begun before ends without
 * what has become garbage since: the next one finds it.
 */
async function isHeld(held: WeakRef<object>): Promise<boolean> {
  for (let collections = 0; collections < 3; collections += 1) {
    await new Promise((resolve) => void setImmediate(resolve));
    collectGarbage();
  }
  return held.deref() !== undefined;
}

describe('a fault that is kept', () => {
  it.each([0, 3])(
    'does not hold the connection that it tells of, with %d causes #no-growth',
    async (causes) => {
      const [plain, ofPlain] = failed(causes, (fault) => fault);
      expect(await isHeld(ofPlain)).toBe(true);
      expect(plain.message).toContain('it failed');
      const [kept, ofKept] = failed(causes, forKeeping);
      expect(await isHeld(ofKept)).toBe(false);
      expect(kept.stack).toContain('it failed');
    },
  );

  it('may be its own cause', () => {
    const circular = new Error('circular');
    circular.cause = circular;
    expect(forKeeping(circular)).toBe(circular);
  });
});
