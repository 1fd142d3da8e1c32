import { describe, expect, it } from 'vitest';
import { FakeUpstream } from '../../../test/support/fake-upstream.ts';
import { ManualClock, settled } from '../../../test/support/manual-clock.ts';
import { localUser, type Principal } from '../../policy/principal.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import type { Supervisor } from '../../supervise/supervisor.ts';
import type { Connection } from '../../upstream/connection.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { CallDeadline } from '../call/call-deadline.ts';
import { ServerFacts } from '../servers/server-facts.ts';
import { BegunTasks } from '../tasks/begun-tasks.ts';
import type { Caller, Client, ClientAnswer, Question } from './caller.ts';
import { ConnectionSlot } from './connection-slot.ts';
import { ConnectionSlots } from './connection-slots.ts';
import { Questions } from './questions.ts';
import { RootsAtStart } from './roots-at-start.ts';

class FakeClient implements Client {
  readonly key: string;
  readonly isAskedInCalls: boolean;
  roots = false;
  readonly asked: Question[] = [];
  readonly told: { message: Message; caller: Caller | undefined }[] = [];
  answer: (answer: ClientAnswer) => void = () => {};

  constructor(key: string, isAskedInCalls = false) {
    this.key = key;
    this.isAskedInCalls = isAskedInCalls;
  }

  hasRoots(): boolean {
    return this.roots;
  }

  ask(question: Question): Promise<ClientAnswer> {
    this.asked.push(question);
    return new Promise((resolve) => {
      this.answer = resolve;
    });
  }

  tell(_server: string, message: Message, caller: Caller | undefined): void {
    this.told.push({ message, caller });
  }

  call(principal: Principal = localUser, logLevel?: string): Caller {
    return { principal, client: this, capabilities: '{}', logLevel };
  }
}

function newQuestions({ hasClients = true } = {}) {
  const clock = new ManualClock();
  const connection = new FakeUpstream('legacy', { logging: {} });
  let found = 0;
  const noise: string[] = [];
  const supervisor = { connection } as unknown as Supervisor<Connection>;
  const store = new MemoryStore({ clock });
  const facts = new ServerFacts(
    store.records('facts', { durability: 'forgetful' }),
    'hash',
    clock,
    () => {},
  );
  const slots = new ConnectionSlots({
    server: 's',
    inClientFolders: () => false,
    isolation: 'auto',
    hasClients,
    facts: () => ({}),
    make: (owner, aim) => new ConnectionSlot(owner, aim, clock, () => supervisor),
  });
  const tasks = new BegunTasks(clock, () => {});
  const questions = new Questions({
    server: 's',
    clock,
    slots,
    hasClients,
    asked: () => {},
    beforeRoots: () => undefined,
    isListing: () => false,
    told: () => {},
    roots: new RootsAtStart(() => facts, clock),
    foundAsking: () => {
      found += 1;
    },
    caught: (error) => {
      throw error;
    },
    noise: (one) => noise.push(one),
    tasks,
  });
  const slot = slots.current;
  const expired: Caller[] = [];
  /** A call goes out, as the pipeline does it. */
  const use = (caller: Caller | undefined, on: FakeUpstream = connection) => {
    const listener = { expired: () => caller && expired.push(caller), progressed: () => {} };
    const deadline = new CallDeadline(clock, 1_000, 100_000, listener);
    slot.enter(caller);
    const isFirst = slot.use(on, caller, deadline);
    if (caller) {
      void questions.preparing(slot, on, caller);
      questions.calling(slot, on, caller, isFirst);
    }
    deadline.begin();
  };
  const ask = (id: number, method = 'sampling/createMessage', from = connection) =>
    questions.asked(slot, message({ id, method, params: { n: 1 } }), undefined, from);
  const note = (method: string, params: object = {}, from = connection) =>
    questions.told(slot, message({ method, params }), undefined, from);
  return {
    questions,
    tasks,
    slot,
    slots,
    connection,
    use,
    ask,
    note,
    noise,
    expired,
    clock,
    found: () => found,
  };
}

function message(value: object): Message {
  return scanMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...value })));
}

describe('a question of a legacy server', () => {
  it('goes to the only client of its connection, and the answer back under the server’s id', async () => {
    const { connection, use, ask, found } = newQuestions();
    const ann = new FakeClient('ann');
    const caller = ann.call();
    use(caller);
    ask(7);
    expect([ann.asked[0]?.caller, ann.asked[0]?.server, found()]).toEqual([caller, 's', 1]);
    ann.answer({ kind: 'result', json: '{"n":1.0}' });
    await settled();
    expect(connection.responses).toEqual(['{"jsonrpc":"2.0","id":7,"result":{"n":1.0}}']);
  });

  it('goes to the call on whose stream it came, whoever else uses the connection', () => {
    const { questions, slot, connection, use, found } = newQuestions();
    const [ann, bob] = [new FakeClient('ann'), new FakeClient('bob')];
    const anns = ann.call();
    use(anns);
    use(bob.call());
    const exchange = connection.request('tools/call', { members: '' }, { owner: anns });
    const asked = message({ id: 1, method: 'sampling/createMessage' });
    questions.asked(slot, asked, exchange, connection);
    expect([ann.asked.length, bob.asked.length, found()]).toEqual([1, 0, 0]);
  });

  it('is refused, naming the key, where it could be for two, and that is remembered', () => {
    const { connection, use, ask, found } = newQuestions();
    const [ann, bob] = [new FakeClient('ann'), new FakeClient('bob')];
    use(ann.call());
    use(bob.call());
    ask(7);
    expect(connection.responses[0]).toMatch(/-32601.*isolation.*client/);
    expect([ann.asked.length, bob.asked.length, found()]).toEqual([0, 0, 1]);
  });

  it('of an old connection is never shown to the client of a new one', () => {
    const { connection, use, ask } = newQuestions();
    const [ann, bob] = [new FakeClient('ann'), new FakeClient('bob')];
    use(ann.call());
    use(bob.call(), new FakeUpstream());
    ask(7, 'elicitation/create', connection);
    ask(8, 'roots/list', connection);
    expect([ann.asked.length, bob.asked.length]).toEqual([0, 0]);
    expect(connection.responses.length).toBe(2);
  });

  it('is not put on the stream of another who is only on the way to the connection', () => {
    const { slot, use, ask, note } = newQuestions();
    const [ann, bob] = [new FakeClient('ann'), new FakeClient('bob')];
    const anns = ann.call();
    use(anns);
    slot.leave(anns);
    slot.enter(bob.call());
    ask(7);
    note('notifications/message', { level: 'info' });
    expect(ann.asked[0]?.caller).toBeUndefined();
    expect(ann.told[0]?.caller).toBeUndefined();
    expect([bob.asked.length, bob.told.length]).toEqual([0, 0]);
  });

  it('is refused between the calls of a client that is asked only inside of one', () => {
    const { connection, use, ask, slot } = newQuestions();
    const modern = new FakeClient('m', true);
    const calls = [modern.call(), modern.call()];
    for (const call of calls) use(call);
    ask(1);
    slot.leave(calls[0]);
    ask(2);
    expect(connection.responses.length).toBe(1);
    expect(modern.asked.map(({ caller }) => caller)).toEqual([calls[1]]);
  });

  it('is refused where the host has no clients, and has no effect', () => {
    const { connection, use, ask, found } = newQuestions({ hasClients: false });
    use(undefined);
    ask(1);
    expect(connection.responses[0]).toContain('-32601');
    expect(found()).toBe(0);
  });

  it('that the server takes back is taken back at the client, and not answered', async () => {
    const { connection, use, ask, note } = newQuestions();
    const ann = new FakeClient('ann');
    use(ann.call());
    ask(7);
    note('notifications/cancelled', { requestId: '7' });
    expect(ann.asked[0]?.withdrawn.aborted).toBe(false);
    note('notifications/cancelled', { requestId: 7 });
    expect(ann.asked[0]?.withdrawn.aborted).toBe(true);
    ann.answer({ kind: 'result', json: '{}' });
    await settled();
    expect(connection.responses).toEqual([]);
  });

  it('of a connection that is lost is taken back', async () => {
    const { questions, connection, use, ask } = newQuestions();
    const ann = new FakeClient('ann');
    use(ann.call());
    ask(7);
    connection.lose();
    questions.lost(connection);
    ann.answer({ kind: 'result', json: '{}' });
    await settled();
    expect([ann.asked[0]?.withdrawn.aborted, connection.responses]).toEqual([true, []]);
  });

  it('of a call that a lost connection still carries is answered, as long as the call goes on', async () => {
    const { questions, slot, connection, use } = newQuestions();
    const ann = new FakeClient('ann');
    const caller = ann.call();
    use(caller);
    // Over HTTP the calls of a connection that takes no more have sockets of their own.
    const exchange = connection.request('tools/call', { members: '' }, { owner: caller });
    exchange.answer.catch(() => {});
    const askInCall = (id: number) =>
      questions.asked(
        slot,
        message({ id, method: 'sampling/createMessage' }),
        exchange,
        connection,
      );
    askInCall(1);
    connection.isLost = true;
    questions.lost(connection);
    expect(ann.asked[0]?.withdrawn.aborted).toBe(false);
    ann.answer({ kind: 'result', json: '{"n":1}' });
    await settled();
    askInCall(2);
    ann.answer({ kind: 'result', json: '{"n":2}' });
    await settled();
    expect(connection.responses.map((text) => JSON.parse(text))).toMatchObject([
      { id: 1, result: { n: 1 } },
      { id: 2, result: { n: 2 } },
    ]);
    askInCall(3);
    connection.lose();
    questions.lost(connection);
    ann.answer({ kind: 'result', json: '{}' });
    await settled();
    expect([ann.asked[2]?.withdrawn.aborted, connection.responses.length]).toEqual([true, 2]);
  });

  it('stops the time of the call it belongs to, until it is answered', async () => {
    const { use, ask, clock, expired } = newQuestions();
    const ann = new FakeClient('ann');
    const caller = ann.call();
    use(caller);
    ask(7);
    await clock.advanceAsync(50_000);
    expect(expired).toEqual([]);
    ann.answer({ kind: 'result', json: '{}' });
    await clock.advanceAsync(2_000);
    expect(expired).toEqual([caller]);
  });

  it('gets the client’s progress on one line', () => {
    const { connection, use, ask } = newQuestions();
    const ann = new FakeClient('ann');
    use(ann.call());
    ask(7);
    const said =
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"x":\n1.0,\r\n"y":2}}';
    ann.asked[0]?.tellServer(scanMessage(Buffer.from(said)));
    expect(connection.notes).toEqual(['notifications/progress {"x": 1.0,  "y":2}']);
  });
});

describe('the roots', () => {
  it('are none for a server that asks before anybody is there, or one whose client has none', () => {
    const { connection, use, ask, found } = newQuestions();
    ask(1, 'roots/list');
    const ann = new FakeClient('ann');
    use(ann.call());
    ask(2, 'roots/list');
    expect(connection.responses).toEqual([
      '{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}',
      '{"jsonrpc":"2.0","id":2,"result":{"roots":[]}}',
    ]);
    expect([ann.asked.length, found(), connection.notes]).toEqual([0, 0, []]);
  });

  it('are announced when their client comes first, and asked of it alone', async () => {
    const { connection, use, ask, found } = newQuestions();
    const ann = new FakeClient('ann');
    ann.roots = true;
    use(ann.call());
    use(ann.call());
    expect(connection.notes).toEqual(['notifications/roots/list_changed {}']);
    ask(1, 'roots/list');
    ann.answer({ kind: 'result', json: '{"roots":[]}' });
    await settled();
    expect(found()).toBe(0);
    ask(2, 'roots/list');
    ann.answer({ kind: 'result', json: '{"roots":[{"uri":"file:///a"}]}' });
    await settled();
    expect(found()).toBe(1);
    expect(connection.responses[1]).toContain('file:///a');
  });

  it.each(['{"roots":[],"roots":[]}', '{"roots":5}', '{}', 'null', '[]', '"x"'])(
    'are carried whatever the client answers: %s',
    async (json) => {
      const { connection, use, ask, found } = newQuestions();
      const ann = new FakeClient('ann');
      ann.roots = true;
      use(ann.call());
      ask(1, 'roots/list');
      ann.answer({ kind: 'result', json });
      await settled();
      expect(connection.responses).toEqual([`{"jsonrpc":"2.0","id":1,"result":${json}}`]);
      expect(found()).toBe(0);
    },
  );
});

describe('a call that waits until its server has been told its roots', () => {
  /** Ann's call is the first on a connection whose server is known to ask at its start. */
  function newWaiting(isLost = false) {
    const world = newQuestions();
    const { ask, connection, slot, questions } = world;
    ask(0, 'roots/list');
    const ann = new FakeClient('ann');
    ann.roots = true;
    const caller = ann.call();
    slot.enter(caller);
    if (isLost) connection.lose();
    const ready: string[] = [];
    const preparing = questions.preparing(slot, connection, caller);
    preparing?.then(() => ready.push('ready')).catch(() => {});
    return { ...world, ann, preparing, ready };
  }

  it.each([
    { when: 'nothing was asked', isAsked: false },
    { when: 'its client was asked', isAsked: true },
  ])('waits no longer for a connection that is gone: $when', async ({ isAsked }) => {
    const { questions, connection, ask, ann, ready } = newWaiting();
    if (isAsked) ask(1, 'roots/list');
    await settled();
    expect([ann.asked.length, ready]).toEqual([isAsked ? 1 : 0, []]);
    connection.lose();
    questions.lost(connection);
    await settled();
    expect(ready).toEqual(['ready']);
  });

  it('does not begin to wait for one that is gone already', () => {
    const { preparing, connection } = newWaiting(true);
    expect([preparing, connection.notes]).toEqual([undefined, []]);
  });
});

describe('roots asked for on a connection that two clients use', () => {
  /** A server that has a call of ann's and one of bob's. */
  function newShared() {
    const world = newQuestions();
    const [ann, bob] = [new FakeClient('ann'), new FakeClient('bob')];
    ann.roots = true;
    const anns = ann.call();
    world.use(anns);
    world.use(bob.call());
    return { ...world, ann, bob, anns };
  }
  const none = '{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}';

  it('are none, also on the stream of one of them, and that is remembered #own-roots', () => {
    const { questions, slot, connection, ann, anns, found } = newShared();
    const exchange = connection.request('tools/call', { members: '' }, { owner: anns });
    questions.asked(slot, message({ id: 1, method: 'roots/list' }), exchange, connection);
    expect([ann.asked.length, found(), connection.responses]).toEqual([0, 1, [none]]);
  });

  it('are none, also for the task of one of them #own-roots', () => {
    const { questions, tasks, slot, connection, ann, anns, found } = newShared();
    tasks.following(connection, 'task', anns, () => {});
    const related = { 'io.modelcontextprotocol/related-task': { taskId: 'task' } };
    const asked = message({ id: 1, method: 'roots/list', params: { _meta: related } });
    questions.asked(slot, asked, undefined, connection);
    expect([ann.asked.length, found(), connection.responses]).toEqual([0, 1, [none]]);
  });

  it.each([
    { what: 'another client', other: new FakeClient('bob').call() },
    { what: 'somebody who cannot be asked', other: undefined },
  ])('are none if $what came while the first was asked #own-roots', async ({ other }) => {
    const { connection, use, ask, found } = newQuestions();
    const ann = new FakeClient('ann');
    ann.roots = true;
    use(ann.call());
    ask(1, 'roots/list');
    use(other);
    ann.answer({ kind: 'result', json: '{"roots":[{"uri":"file:///ann"}]}' });
    await settled();
    expect([ann.asked.length, found(), connection.responses]).toEqual([1, 1, [none]]);
  });

  it('are none if the client that was asked has none, and mean nothing', async () => {
    const { connection, use, ask, found } = newQuestions();
    const ann = new FakeClient('ann');
    ann.roots = true;
    use(ann.call());
    ask(1, 'roots/list');
    use(new FakeClient('bob').call());
    ann.answer({ kind: 'error', json: '{"code":-1,"message":"not below /home/ann"}' });
    await settled();
    expect([found(), connection.responses]).toEqual([0, [none]]);
  });
});

describe('what a server says unasked', () => {
  const other: Principal = { id: 'token:x', role: null };

  it('goes to the only client of its connection, with its oldest call', () => {
    const { use, note } = newQuestions();
    const ann = new FakeClient('ann');
    const calls = [ann.call(), ann.call()];
    for (const call of calls) use(call);
    note('notifications/message', { level: 'info' });
    note('vendor/x');
    expect(ann.told.map(({ caller }) => caller)).toEqual([calls[0], calls[0]]);
  });

  it('goes to no client if several principals have used the connection', () => {
    const { use, note, noise, slot } = newQuestions();
    const [ann, bob] = [new FakeClient('ann'), new FakeClient('bob')];
    const anns = ann.call();
    use(anns);
    slot.leave(anns);
    use(bob.call(other));
    note('notifications/message', { level: 'info', data: 'about ann' });
    expect([ann.told.length, bob.told.length, noise]).toEqual([0, 0, ['unowned-notification']]);
  });

  it('about a call that has ended is dropped: the client may use its token for another call', () => {
    const { use, note, noise } = newQuestions();
    const ann = new FakeClient('ann');
    use(ann.call());
    note('notifications/progress', { progressToken: 1, progress: 1 });
    expect([ann.told, noise]).toEqual([[], ['unowned-notification']]);
  });
});

describe('a modern server on a connection of many', () => {
  it('is heard by the one call that it has, and not by one that only waits', () => {
    const { use, note, slot, noise } = newQuestions();
    const modern = new FakeUpstream('modern');
    const [ann, bob] = [new FakeClient('ann'), new FakeClient('bob')];
    const anns = ann.call(localUser, 'info');
    use(anns, modern);
    const bobs = bob.call({ id: 'token:x', role: null }, 'info');
    use(bobs, modern);
    note('notifications/message', { level: 'error' }, modern);
    slot.leave(bobs);
    note('notifications/message', { level: 'error' }, modern);
    slot.leave(anns);
    slot.enter(bob.call({ id: 'token:x', role: null }, 'info'));
    note('notifications/message', { level: 'error', data: 'late, about ann' }, modern);
    expect([ann.told.length, bob.told.length, noise.length]).toEqual([1, 0, 2]);
  });
});

describe('a call that goes out', () => {
  it('tells a legacy server the level that its client wants, once, and a modern one nothing', () => {
    const { use, connection } = newQuestions();
    const modern = new FakeUpstream('modern', { logging: {} });
    const ann = new FakeClient('ann');
    ann.roots = true;
    for (const on of [connection, connection, modern]) use(ann.call(localUser, 'info'), on);
    expect(connection.methods).toEqual(['logging/setLevel']);
    expect([modern.methods, modern.notes]).toEqual([[], []]);
  });
});
