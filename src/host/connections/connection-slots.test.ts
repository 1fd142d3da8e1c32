import { describe, expect, it } from 'vitest';
import { FakeUpstream } from '../../../test/support/fake-upstream.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { localUser, type Principal } from '../../policy/principal.ts';
import type { Supervisor } from '../../supervise/supervisor.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Era } from '../../wire/eras.ts';
import { CallDeadline } from '../call/call-deadline.ts';
import type { Facts } from '../servers/server-facts.ts';
import type { Caller } from './caller.ts';
import { bareClass, everyClass } from './client-class.ts';
import { type Aim, ConnectionSlot } from './connection-slot.ts';
import { ConnectionSlots } from './connection-slots.ts';

function newCaller(
  key: string,
  more: Partial<Caller['client']> = {},
  principal: Principal = localUser,
): Caller {
  const client = { key, isAskedInCalls: false, ...more } as Caller['client'];
  return { principal, client, capabilities: '{}', logLevel: undefined };
}

/** As much of a supervisor as a slot looks at. */
class FakeSupervisor {
  connection: Connection | undefined;
  isEnded = false;
  phase = { kind: 'idle' };
  readonly leases = {
    isWanted: false,
    isPinned: false,
    held: 0,
    pin: (on: boolean) => this.#pin(on),
  };

  #pin(isPinned: boolean): void {
    this.leases.isPinned = isPinned;
    this.leases.isWanted = isPinned || this.leases.held > 0;
  }

  connect(era: Era, connection: Connection = new FakeUpstream(era)): Connection {
    this.connection = connection;
    this.phase = { kind: 'ready' };
    return connection;
  }

  evict(): void {
    if (this.leases.isWanted) return;
    this.connection = undefined;
    this.phase = { kind: 'idle' };
  }

  async end(): Promise<void> {
    this.isEnded = true;
  }
}

const deadline = () => new CallDeadline(new ManualClock(), 1, 1, { expired() {}, progressed() {} });
const anyAim: Aim = { era: 'modern', clients: bareClass };

function newSlot(owner: string | null = null, aim: Aim = anyAim) {
  const supervisor = new FakeSupervisor();
  const slot = new ConnectionSlot(
    owner,
    aim,
    new ManualClock(),
    () => supervisor as unknown as Supervisor<Connection>,
  );
  const use = (connection: Connection, caller: Caller | undefined) =>
    slot.use(connection, caller, deadline());
  return { slot, supervisor, use };
}

function newSlots(
  isolation: 'auto' | 'shared' | 'client',
  facts: Facts = {},
  inClientFolders = false,
) {
  const made: FakeSupervisor[] = [];
  let known = facts;
  const slots = new ConnectionSlots({
    server: 's',
    inClientFolders: () => inClientFolders,
    isolation,
    hasClients: true,
    facts: () => known,
    make: (owner, aim) => {
      const { slot, supervisor } = newSlot(owner, aim);
      made.push(supervisor);
      return slot;
    },
  });
  /** Its connection is made, in this era. */
  const connect = (slot: ConnectionSlot, era: Era = slot.aim.era, made?: Connection) => {
    slot.aim = { ...slot.aim, era };
    const connection = (slot.supervisor as unknown as FakeSupervisor).connect(era, made);
    slots.connected(slot);
    return connection;
  };
  const learn = (more: Facts) => {
    known = { ...known, ...more };
    slots.changed();
  };
  const running = () => [...slots.all()].filter(({ supervisor }) => supervisor.connection);
  return { slots, made, connect, learn, running };
}

const declared = {
  nothing: '{}',
  roots: '{"roots":{"listChanged":true}}',
  more: '{"roots":{},"sampling":{}}',
  forms: '{"elicitation":{}}',
};

function withCapabilities(key: string, capabilities: string, isAskedInCalls = false): Caller {
  return { ...newCaller(key, { isAskedInCalls }), capabilities };
}

describe('a connection in its slot', () => {
  it('belongs to the one client that has ever used it', () => {
    const { slot, use } = newSlot();
    const connection = new FakeUpstream();
    const [ann, bob] = [newCaller('ann'), newCaller('bob')];
    expect(slot.onlyClientOf(connection)).toBeUndefined();
    expect([use(connection, ann), use(connection, newCaller('ann'))]).toEqual([true, false]);
    slot.leave(ann);
    expect(slot.onlyClientOf(connection)?.key).toBe('ann');
    expect(use(connection, bob)).toBe(false);
    slot.leave(bob);
    expect(slot.onlyClientOf(connection)).toBeUndefined();
  });

  it('belongs to no client once a caller has used it that cannot be asked', () => {
    const { slot, use } = newSlot();
    const connection = new FakeUpstream();
    use(connection, undefined);
    expect(use(connection, newCaller('ann'))).toBe(false);
    expect(slot.onlyClientOf(connection)).toBeUndefined();
  });

  it('is waited for by the calls that run on no other', () => {
    const { slot, use } = newSlot();
    const [old, young] = [new FakeUpstream(), new FakeUpstream()];
    const [ann, bob] = [newCaller('ann'), newCaller('bob')];
    slot.enter(ann);
    use(old, ann);
    slot.enter(bob);
    expect(slot.waitingFor(young)).toEqual([bob]);
    expect(slot.waitingFor(old)).toEqual([]);
  });

  it('that is new has no past, and the old one has no owner any more', () => {
    const { slot, use } = newSlot();
    const [old, young] = [new FakeUpstream(), new FakeUpstream()];
    use(old, newCaller('ann'));
    use(old, newCaller('bob'));
    expect(use(young, newCaller('eve'))).toBe(true);
    expect(slot.onlyClientOf(young)?.key).toBe('eve');
    expect(slot.onlyClientOf(old)).toBeUndefined();
  });

  it('is one person’s as long as all who used it are the same', () => {
    const { slot, use } = newSlot();
    const connection = new FakeUpstream();
    use(connection, newCaller('one'));
    use(connection, newCaller('two'));
    expect(slot.hasOnePrincipal(connection)).toBe(true);
    use(connection, newCaller('three', {}, { id: 'token:x', role: null }));
    expect(slot.hasOnePrincipal(connection)).toBe(false);
  });

  it('that has ended is forgotten, with the client that used it #no-growth', () => {
    const { slot, use } = newSlot();
    const [old, young] = [new FakeUpstream(), new FakeUpstream()];
    use(old, newCaller('ann'));
    slot.ended(old);
    expect([slot.isUnused(old), slot.onlyClientOf(old)]).toEqual([true, undefined]);
    expect(slot.onlyClientOf(undefined)).toBeUndefined();
    // The end of the one before says nothing about the one that is there.
    use(young, newCaller('bob'));
    slot.ended(old);
    expect([slot.isUnused(young), slot.onlyClientOf(young)?.key]).toEqual([false, 'bob']);
  });

  it('that is lost is used by nobody: what is known of the one after it stays #own-roots', () => {
    const { slot, use } = newSlot();
    const [lost, young] = [new FakeUpstream(), new FakeUpstream()];
    const ann = newCaller('ann');
    slot.enter(ann);
    lost.lose();
    use(young, newCaller('bob', {}, { id: 'token:bob', role: null }));
    // Whoever has waited for something on the lost one goes on there, and is turned away.
    expect(use(lost, ann)).toBe(false);
    expect(slot.onlyClientWaitingFor(lost)).toBeUndefined();
    slot.claim(lost, ann.client);
    expect(slot.onlyClientOf(young)?.key).toBe('bob');
    use(young, ann);
    expect([slot.onlyClientOf(young), slot.hasOnePrincipal(young)]).toEqual([undefined, false]);
  });

  it('knows the calls it carries, each until it leaves', () => {
    const { slot, use } = newSlot();
    const connection = new FakeUpstream();
    const [one, two] = [newCaller('ann'), newCaller('ann')];
    for (const caller of [one, two]) slot.enter(caller);
    use(connection, one);
    // The other only waits: nothing that is said now can be about it.
    expect([slot.inFlight, slot.onlyCaller]).toEqual([2, one]);
    use(connection, two);
    expect([slot.onlyCaller, slot.oldestCaller(two.client)]).toEqual([undefined, one]);
    slot.leave(one);
    slot.leave(one);
    expect([slot.inFlight, slot.onlyCaller]).toEqual([1, two]);
  });
});

describe('a server that speaks both eras', () => {
  it('is spoken to in the era of the client that asks, on one connection for each era #eras', () => {
    const { slots, connect, running } = newSlots('auto');
    const old = slots.for(withCapabilities('old', declared.nothing));
    expect(old.aim.era).toBe('legacy');
    connect(old);
    const young = slots.for(withCapabilities('young', declared.more, true));
    expect([young.aim.era, young === old]).toEqual(['modern', false]);
    connect(young);
    expect(slots.for(withCapabilities('other', declared.roots, true))).toBe(young);
    expect(slots.for(withCapabilities('old', declared.nothing))).toBe(old);
    expect(running()).toEqual([old, young]);
  });

  it('is not started twice while it turns out that it speaks the other era alone', () => {
    const { slots, learn, made } = newSlots('auto');
    const young = withCapabilities('young', declared.nothing, true);
    const first = slots.for(young);
    (first.supervisor as unknown as FakeSupervisor).phase = { kind: 'starting' };
    learn({ modern: false });
    expect([slots.for(young), made.length]).toEqual([first, 1]);
  });

  it('that turns out to speak the other era alone serves both on one connection', () => {
    const { slots, connect, learn } = newSlots('auto');
    const first = slots.for(withCapabilities('young', declared.nothing, true));
    connect(first, 'legacy');
    learn({ modern: false, legacy: true });
    expect(slots.for(withCapabilities('young', declared.nothing, true))).toBe(first);
    expect(slots.for(withCapabilities('old', declared.nothing))).toBe(first);
  });
});

describe('classes of legacy clients', () => {
  it('have a connection each until it is known whether the server treats them alike #classes', () => {
    const { slots, connect } = newSlots('auto');
    const bare = slots.for(withCapabilities('a', declared.nothing));
    connect(bare);
    const roots = slots.for(withCapabilities('b', declared.roots));
    expect(roots).not.toBe(bare);
    expect(roots.aim.clients.capabilities).toBe('{"roots":{"listChanged":true}}');
    expect(slots.for(withCapabilities('c', '{"roots":{}}'))).toBe(roots);
  });

  it('that are treated alike share the connection that covers them, and the other one ends #classes', () => {
    const { slots, connect, learn, running } = newSlots('auto');
    const bare = slots.for(withCapabilities('a', declared.nothing));
    connect(bare);
    const more = slots.for(withCapabilities('b', declared.more));
    connect(more);
    learn({ classes: 'alike' });
    expect(running()).toEqual([more]);
    expect(slots.for(withCapabilities('a', declared.nothing))).toBe(more);
    expect(slots.for(withCapabilities('c', declared.roots))).toBe(more);
  });

  it('that are treated alike but do not cover each other meet on the next connection', () => {
    const { slots, connect, learn, running } = newSlots('auto', { classes: 'alike' });
    const roots = slots.for(withCapabilities('a', declared.roots));
    connect(roots);
    const both = slots.for(withCapabilities('b', declared.forms));
    connect(both);
    learn({});
    expect(JSON.parse(both.aim.clients.capabilities)).toEqual({
      roots: { listChanged: true },
      elicitation: { form: {} },
    });
    expect(running()).toEqual([both]);
  });

  it('go the same way however they write what they can do, and whoever they are #classes', () => {
    const { slots, connect } = newSlots('auto', { classes: 'differ' });
    const places = [declared.nothing, declared.roots].map((capabilities) => {
      const slot = slots.for(withCapabilities('a', capabilities));
      connect(slot);
      return slot;
    });
    expect(slots.for(withCapabilities('a', declared.roots))).toBe(places[1]);
    // Both places are free now: a class that was not seen before would take the first.
    for (const { supervisor } of places) (supervisor as unknown as FakeSupervisor).evict();
    const other = { ...newCaller('b', {}, { id: 'token:x', role: null }) };
    expect(slots.for({ ...other, capabilities: '{ "roots": {} }' })).toBe(places[1]);
  });

  it('do not go where modern clients go that can do the same #eras #classes', () => {
    const { slots, connect } = newSlots('auto');
    const old = slots.for(withCapabilities('old', declared.roots));
    connect(old);
    const young = slots.for(withCapabilities('young', declared.roots, true));
    connect(young);
    const again = [false, true].map((isModern) =>
      slots.for(withCapabilities('again', declared.roots, isModern)),
    );
    expect([young === old, again]).toEqual([false, [old, young]]);
  });

  it('that are treated differently stay apart', () => {
    const { slots, connect, learn, running } = newSlots('auto');
    const bare = slots.for(withCapabilities('a', declared.nothing));
    connect(bare);
    const more = slots.for(withCapabilities('b', declared.more));
    connect(more);
    learn({ classes: 'differ' });
    expect(running()).toEqual([bare, more]);
    expect(slots.for(withCapabilities('c', declared.nothing))).toBe(bare);
  });

  it('take over a place that nobody uses instead of a new one', () => {
    const { slots, connect, made } = newSlots('auto');
    const bare = slots.for(withCapabilities('a', declared.nothing));
    connect(bare);
    (bare.supervisor as unknown as FakeSupervisor).evict();
    expect(slots.for(withCapabilities('b', declared.more))).toBe(bare);
    expect(made).toHaveLength(1);
  });

  it('however many, get a bounded number of connections', () => {
    const { slots, connect, made } = newSlots('auto', { classes: 'differ' });
    for (let at = 0; at < 50; at++) {
      const extensions = { [`x/${at}`]: {} };
      connect(slots.for(withCapabilities(`c${at}`, JSON.stringify({ extensions }))));
    }
    expect(made.length).toBeLessThanOrEqual(6);
  });

  it('do not end a connection that is still used, and keep the pin on the one that stays', () => {
    const { slots, connect, learn, running } = newSlots('auto');
    slots.pin(true);
    const bare = slots.current;
    connect(bare, 'legacy');
    const more = slots.for(withCapabilities('b', declared.more));
    connect(more);
    const used = (bare.supervisor as unknown as FakeSupervisor).leases;
    used.isWanted = true;
    learn({ classes: 'alike' });
    expect(more.supervisor.leases.isPinned).toBe(true);
    expect([used.isPinned, running().length]).toEqual([false, 1]);
  });
});

describe('a client’s place', () => {
  it('has ended before its server has, although it is in no list any more', async () => {
    const { slots, made } = newSlots('client');
    slots.for(newCaller('ann'));
    let end = () => {};
    const own = made.at(-1) as FakeSupervisor;
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    own.end = () => over;
    const released = slots.release('ann');
    const order: string[] = [];
    const ended = slots.endAll().then(() => order.push('server'));
    await new Promise(setImmediate);
    order.push('place');
    end();
    await Promise.all([released, ended]);
    expect(order).toEqual(['place', 'server']);
  });

  it('is the shared one until the server has asked, and its own from then on', () => {
    const { slots, connect } = newSlots('auto');
    const [ann, bob] = [newCaller('ann'), newCaller('bob')];
    const shared = slots.for(ann);
    connect(shared);
    expect([slots.for(bob), slots.for(undefined)]).toEqual([shared, shared]);
    expect([slots.foundAsking(), slots.foundAsking(), slots.asks]).toEqual([true, false, true]);
    expect(slots.for(ann).owner).toBe('ann');
    expect(slots.for(bob).owner).toBe('bob');
    expect(slots.for(newCaller('ann'))).toBe(slots.for(ann));
    expect(slots.for(undefined)).toBe(shared);
  });

  it('stays the shared one for the only client that used it when the server asked', () => {
    const { slots, connect } = newSlots('auto');
    const ann = newCaller('ann');
    const shared = slots.for(ann);
    shared.use(connect(shared), ann, deadline());
    slots.foundAsking();
    expect(slots.for(ann)).toBe(shared);
    expect(slots.for(newCaller('bob'))).not.toBe(shared);
  });

  it('is used by no client once its client has disconnected #classes', async () => {
    const { slots, connect, made } = newSlots('auto');
    const ann = newCaller('ann');
    const shared = slots.for(ann);
    shared.use(connect(shared), ann, deadline());
    slots.foundAsking();
    await slots.release('ann');
    expect(shared.supervisor.connection).toBeUndefined();
    expect(slots.for(newCaller('ann', { isGone: true })).owner).toBeNull();
    await expect(slots.watch(newCaller('ann', { isGone: true }), 'x:y')).rejects.toMatchObject({
      code: 'cancelled',
    });
    expect([[...slots.all()], made.length]).toEqual([[shared], 1]);
  });

  it('is always shared, or always its own, if the operator says so', () => {
    const { slots: shared } = newSlots('shared');
    shared.foundAsking();
    expect(shared.for(newCaller('ann'))).toBe(shared.current);
    expect(shared.current.aim.clients).toBe(everyClass);
    const { slots: own } = newSlots('client');
    expect(own.for(newCaller('ann')).owner).toBe('ann');
  });

  it('is a free one for every call at the same time if it is asked in calls, up to eight', () => {
    const { slots } = newSlots('client', { modern: false });
    const calls = Array.from({ length: 10 }, () => newCaller('m', { isAskedInCalls: true }));
    const places = calls.map((caller) => {
      const slot = slots.for(caller);
      slot.enter(caller);
      return slot;
    });
    expect(new Set(places).size).toBe(8);
    const [first] = calls;
    places[0]?.leave(first);
    for (const at of [8, 9]) places[at]?.leave(calls[at]);
    expect(slots.for(newCaller('m', { isAskedInCalls: true }))).toBe(places[0]);
  });

  it('ends when the client is gone, and nobody else’s does', async () => {
    const { slots, made } = newSlots('client');
    slots.for(newCaller('ann'));
    slots.for(newCaller('bob'));
    await slots.release('ann');
    await slots.release('nobody');
    expect(made.map(({ isEnded }) => isEnded)).toEqual([false, true, false]);
    expect([...slots.all()].map(({ owner }) => owner)).toEqual([null, 'bob']);
    await slots.endAll();
    expect(made.map(({ isEnded }) => isEnded)).toEqual([true, true, true]);
  });

  it.each(['auto', 'client'] as const)(
    'has lists of its own until the client is gone, whatever is still said there #no-growth: %s',
    async (isolation) => {
      const { slots, connect } = newSlots(isolation);
      const ann = newCaller('ann');
      const slot = slots.for(ann);
      expect(slots.part(slot)).toBe(isolation === 'client');
      slot.use(connect(slot), ann, deadline());
      slots.foundAsking();
      expect([slots.part(slot), slot.aim.owner, slots.aimOf(ann).owner]).toEqual([
        true,
        'ann',
        'ann',
      ]);
      expect(slots.aimOf(newCaller('bob')).owner).toBeUndefined();
      await slots.release('ann');
      expect([slot.aim.owner, slots.part(slot), slots.aimOf(ann).owner]).toEqual([
        undefined,
        false,
        undefined,
      ]);
    },
  );

  it('is what it alone uses: its own, and a shared one that nobody else has touched', () => {
    const { slots, connect } = newSlots('auto');
    const shared = slots.for(newCaller('ann'));
    const connection = connect(shared);
    shared.use(connection, newCaller('ann'), deadline());
    expect(slots.usedOnlyBy('ann')).toEqual([shared]);
    expect(slots.usedOnlyBy('bob')).toEqual([]);
    shared.use(connection, newCaller('bob'), deadline());
    expect([...slots.usedOnlyBy('ann'), ...slots.usedOnlyBy('bob')]).toEqual([]);
  });
});

describe('a connection that is to be sent data of one client', () => {
  const keptFor = (isolation: 'auto' | 'shared' | 'client', ...users: (Caller | undefined)[]) => {
    const { slots, connect } = newSlots(isolation);
    const ann = newCaller('ann');
    const slot = slots.for(ann);
    const connection = connect(slot);
    for (const user of [ann, ...users]) slot.use(connection, user, deadline());
    const isKept = () => slots.keepFor(slot, connection, ann.client);
    return { slots, slot, connection, ann, isKept };
  };

  it('becomes its own, whether or not the server was known to ask #own-roots', () => {
    for (const isKnown of [false, true]) {
      const { slots, slot, ann, isKept } = keptFor('auto');
      if (isKnown) slots.foundAsking();
      expect([isKept(), slot.owner, slots.isTaken(slot, newCaller('bob'))]).toEqual([
        true,
        'ann',
        true,
      ]);
      slots.foundAsking();
      expect([slots.for(ann), slots.for(newCaller('bob')) === slot]).toEqual([slot, false]);
      expect(slots.for(undefined)).not.toBe(slot);
    }
  });

  it('cannot become its own once anybody else has used it #own-roots', () => {
    for (const other of [newCaller('bob'), undefined]) {
      const { slot, isKept } = keptFor('auto', other);
      expect([isKept(), slot.owner]).toEqual([false, null]);
    }
    const { slots, connection, ann } = keptFor('auto');
    expect(slots.keepFor(newSlot('bob').slot, connection, ann.client)).toBe(false);
  });

  it('is not given to a client that is gone, which would never give it back #no-growth', () => {
    const gone = newCaller('gone', { isGone: true });
    const { slots, connect } = newSlots('auto');
    const slot = slots.for(newCaller('gone'));
    const connection = connect(slot);
    slot.use(connection, gone, deadline());
    expect([slots.keepFor(slot, connection, gone.client), slot.owner]).toEqual([false, null]);
    slots.foundAsking();
    expect(slot.owner).toBeNull();
  });

  it('stays as the operator has it, for all or for each', () => {
    const { slot: all, isKept: isKeptForAll } = keptFor('shared');
    expect([isKeptForAll(), all.owner]).toEqual([true, null]);
    const { slot: own, isKept: isKeptForOne } = keptFor('client');
    expect([isKeptForOne(), own.owner]).toEqual([true, 'ann']);
  });
});

describe('a server that is kept running, whose only connection was the own one of a client that is gone', () => {
  async function newPinned() {
    const { slots, connect } = newSlots('auto');
    slots.pin(true);
    const slot = slots.current;
    const ann = newCaller('ann');
    slot.use(connect(slot, 'legacy'), ann, deadline());
    slots.foundAsking();
    return { slots, slot, leases: (slot.supervisor as unknown as FakeSupervisor).leases };
  }

  it('is started anew, and is for everybody', async () => {
    const { slots, slot, leases } = await newPinned();
    await slots.release('ann');
    expect([slot.supervisor.connection, leases.isPinned]).toEqual([undefined, true]);
    expect(slots.isTaken(slot, newCaller('bob'))).toBe(false);
  });

  it('is started anew also if the client left while it was being started', async () => {
    const { slots, connect } = newSlots('auto');
    slots.pin(true);
    const slot = slots.current;
    const [ann, connection] = [newCaller('ann'), new FakeUpstream()];
    slot.claim(connection, ann.client);
    expect(slots.keepFor(slot, connection, ann.client)).toBe(true);
    await slots.release('ann');
    connect(slot, 'legacy', connection);
    expect(slot.supervisor.connection).toBeUndefined();
  });

  it('is started anew only when it carries no calls any more', async () => {
    const { slots, slot, leases } = await newPinned();
    leases.held = 1;
    await slots.release('ann');
    expect(slot.isSpent).toBe(true);
    leases.held = 0;
    slots.settle(slot);
    expect([slot.supervisor.connection, leases.isPinned]).toEqual([undefined, true]);
  });
});

describe('a connection whose client is gone, but which still carries calls', () => {
  /** One that was ann's own, and so many others of other classes, all in use. */
  async function newSpent(others: number) {
    const { slots, connect, made } = newSlots('auto', { classes: 'differ' });
    const ann = newCaller('ann');
    const spent = slots.for(ann);
    spent.use(connect(spent), ann, deadline());
    for (let at = 0; at < others; at++) {
      const extensions = { [`x/${at}`]: {} };
      for (const key of [`one${at}`, `other${at}`]) {
        const caller = withCapabilities(key, JSON.stringify({ extensions }));
        const slot = slots.for(caller);
        slot.use(slot.supervisor.connection ?? connect(slot), caller, deadline());
      }
    }
    slots.foundAsking();
    for (const { leases } of made) leases.isWanted = true;
    await slots.release('ann');
    expect(spent.isSpent).toBe(true);
    return { slots, spent, made };
  }

  it.each([0, 5])(
    'is not chosen, also when there are the most allowed: %i others',
    async (others) => {
      const { slots, spent, made } = await newSpent(others);
      const nobody = slots.for(undefined);
      expect([nobody === spent, slots.isTaken(nobody, undefined)]).toEqual([false, false]);
      const young = slots.for(withCapabilities('young', declared.nothing, true));
      expect([young === spent, slots.isTaken(young, undefined)]).toEqual([false, false]);
      expect(made.length).toBeLessThanOrEqual(7);
    },
  );
});

describe('calls of one client that were asked for their roots', () => {
  function newAsked() {
    const world = newSlots('auto', { modern: false, asksRoots: true, keepsRoots: true });
    world.slots.foundAsking();
    const call = (key?: string): Caller => ({
      ...withCapabilities('ann', declared.roots, true),
      ...(key === undefined ? {} : { roots: { key, answer: { kind: 'result', json: '{}' } } }),
    });
    /** The call is at the place that it was given. */
    const sent = (caller: Caller) => {
      const slot = world.slots.forCall(caller);
      if (!slot) throw new Error('no place');
      slot.enter(caller);
      return slot;
    };
    return { ...world, call, sent };
  }

  it('share a connection only if they are the same #own-roots', () => {
    const { call, sent, connect, slots } = newAsked();
    const slot = sent(call('one'));
    connect(slot);
    expect(slots.isTaken(slot, call('one'))).toBe(false);
    expect(slots.isTaken(slot, call('other'))).toBe(true);
    expect(sent(call('other'))).not.toBe(slot);
  });

  it('do not use a place where a call waits whose roots are not known #own-roots', () => {
    const { call, sent } = newAsked();
    const slot = sent(call());
    expect(slot.supervisor.connection).toBeUndefined();
    expect(sent(call('one'))).not.toBe(slot);
  });

  it('leave nothing of them at a place that is opened again for others #own-roots', () => {
    const { call, sent, connect } = newAsked();
    const [one, none] = [call('one'), call('')];
    const slot = sent(one);
    connect(slot);
    slot.leave(one);
    slot.supervisor.evict();
    expect(sent(none)).toBe(slot);
    expect(slot.roots).toBeUndefined();
  });
});

describe('a server that runs in the folders of its clients', () => {
  const inFolder = (key: string, path: string | undefined, capabilities = declared.nothing) => {
    const caller = withCapabilities(key, capabilities);
    const folder = path === undefined ? { problem: 'it is not yours' } : { path };
    return { ...caller, client: { ...caller.client, folder } };
  };

  it('has a connection for each folder, which its clients share', () => {
    const { slots, connect } = newSlots('auto', {}, true);
    const one = slots.for(inFolder('ann', '/one'));
    connect(one);
    const two = slots.for(inFolder('bob', '/two'));
    connect(two);
    expect([one.aim.folder, two.aim.folder]).toEqual(['/one', '/two']);
    expect(slots.for(inFolder('eve', '/one'))).toBe(one);
    expect(slots.isTaken(one, inFolder('bob', '/two'))).toBe(true);
    expect(slots.isTaken(one, inFolder('eve', '/one'))).toBe(false);
    expect(slots.isTaken(one, undefined)).toBe(true);
  });

  it('keeps what is listed and answered in each folder apart #own-answers-only', () => {
    const { slots } = newSlots('auto', {}, true);
    const [one, two] = [inFolder('ann', '/one'), inFolder('bob', '/two')];
    expect([slots.aimOf(one).folder, slots.aimOf(two).folder]).toEqual(['/one', '/two']);
    expect(slots.audienceOf(one)).not.toBe(slots.audienceOf(two));
    expect(slots.audienceOf(one)).toBe(slots.audienceOf(inFolder('eve', '/one')));
    expect(slots.aimOf(inFolder('eve', undefined)).folder).toBe('');
  });

  it('never serves a client in another folder, however many classes there are', () => {
    const { slots, connect } = newSlots('auto', { modern: false, classes: 'differ' }, true);
    const extension = (n: number) => JSON.stringify({ extensions: { [`x/${n}`]: {} } });
    for (let n = 0; n < 20; n += 1) {
      for (const path of ['/one', '/two']) {
        const slot = slots.for(inFolder(`${n}${path}`, path, extension(n)));
        if (!slot.supervisor.connection) connect(slot, 'legacy');
        expect(slot.aim.folder).toBe(path);
      }
    }
    expect([...slots.all()].length).toBeLessThanOrEqual(13);
  });

  it('has none for anybody without a folder', () => {
    const { slots } = newSlots('auto', {}, true);
    expect(() => slots.for(undefined)).toThrow('cwd: "client"');
    expect(() => slots.for(withCapabilities('ann', declared.nothing))).toThrow('holdfast connect');
    expect(() => slots.for(inFolder('bob', undefined))).toThrow('it is not yours');
    expect(() => slots.forClassOf(withCapabilities('ann', declared.nothing))).toThrow('cwd');
    expect(slots.refusalOf(undefined)?.message).toContain('cwd');
    expect(slots.refusalOf(inFolder('ann', '/one'))).toBeUndefined();
  });

  it('keeps the folder of a connection that is reserved for one client', async () => {
    const { slots, connect } = newSlots('client', {}, true);
    const own = slots.for(inFolder('ann', '/one'));
    connect(own);
    expect([own.owner, own.aim.folder]).toEqual(['ann', '/one']);
    expect(slots.for(inFolder('bob', '/one')).owner).toBe('bob');
    await slots.release('ann');
    expect(slots.for(inFolder('ann', '/two')).aim.folder).toBe('/two');
  });
});
