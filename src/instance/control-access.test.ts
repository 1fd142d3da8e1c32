// What an operator can ask over the control socket, and what a role of the local user ("local" in the config) does
// to it. Each kind of request has a row here that says what decides it: a new one without a row fails. Who may not
// see a server gets the same answer for it as for one that does not exist.

import { describe, expect, it, onTestFinished } from 'vitest';
import { newHost, settled } from '../../test/support/fake-gateway.ts';
import { text, tool } from '../../test/support/scripted-server.ts';
import { faultFrom } from '../kernel/fault.ts';
import { operatorAnswer } from './answering.ts';
import { instanceOperations } from './host-operations.ts';
import { type Ask, askSchema } from './protocol.ts';

/** What has to be allowed. */
type Decision =
  /** The server, or something that it has. */
  | 'the server'
  /** The same, and the role has to be an operator's. */
  | 'the server, for operators'
  /** Each entry: what is denied is left out. */
  | 'each entry'
  /** Nothing: the config and the process are the local user's, whatever its role. */
  | 'nothing';

const args = Buffer.from('{}').toString('base64');

const rows: Readonly<
  Record<Ask['ask'], { readonly decides: Decision; readonly ask: (server: string) => Ask }>
> = {
  status: { decides: 'each entry', ask: () => ({ ask: 'status' }) },
  discover: { decides: 'each entry', ask: () => ({ ask: 'discover' }) },
  search: { decides: 'each entry', ask: () => ({ ask: 'search', words: 'word', limit: 9 }) },
  requireServer: { decides: 'the server', ask: (server) => ({ ask: 'requireServer', server }) },
  unknownTool: {
    decides: 'the server',
    ask: (server) => ({ ask: 'unknownTool', server, tool: 'writ' }),
  },
  capabilitiesBehind: {
    decides: 'the server',
    ask: (server) => ({ ask: 'capabilitiesBehind', server, tool: 'read' }),
  },
  tools: { decides: 'the server', ask: (server) => ({ ask: 'tools', server }) },
  call: { decides: 'the server', ask: (server) => ({ ask: 'call', server, tool: 'read', args }) },
  knownTools: { decides: 'the server', ask: (server) => ({ ask: 'knownTools', server }) },
  start: { decides: 'the server', ask: (server) => ({ ask: 'start', server }) },
  output: {
    decides: 'the server, for operators',
    ask: (server) => ({ ask: 'output', server, place: 0 }),
  },
  stop: { decides: 'the server, for operators', ask: (server) => ({ ask: 'stop', server }) },
  reload: { decides: 'the server, for operators', ask: (server) => ({ ask: 'reload', server }) },
  rollout: { decides: 'nothing', ask: () => ({ ask: 'rollout' }) },
  shutdown: { decides: 'nothing', ask: () => ({ ask: 'shutdown' }) },
};

const script = (name: string) => ({
  tools: ['read', 'write'].map((one) => tool(one, { description: `word-${name}-${one}` })),
  on: { 'tools/call': () => text(`word-${name}`) },
});

/** The local user has a role: one tool of `seen`, nothing of `hidden`. */
function world(operator: boolean) {
  const roles = { r: { allow: ['seen/read'], operator } };
  const settings = { roles, local: { role: 'r' } };
  const { host, clock, servers } = newHost(
    { seen: script('seen'), hidden: script('hidden') },
    { settings },
  );
  onTestFinished(() => host.close());
  const operations = instanceOperations(host, {
    readConfig: () => Promise.reject(new Error('no config is read here')),
    taken: () => {},
    facts: () => Promise.reject(new Error('nobody asks for more')),
    rollout: async () => ({ kind: 'pending', detail: '' }),
    shutdown: async () => {},
  });
  /** What it says, or the code and the words of the fault. */
  const said = async (ask: Ask): Promise<string> => {
    const { signal } = new AbortController();
    const own = { ...operations, status: async () => host.status() };
    let answer: string | undefined;
    operatorAnswer(ask, { operations: own as typeof operations, signal, item: () => {} }).then(
      (value) => {
        answer = JSON.stringify(value) ?? 'done';
      },
      (error: unknown) => {
        const { code, message } = faultFrom(error);
        answer = `${code}: ${message}`;
      },
    );
    while (answer === undefined) {
      await clock.advanceAsync(100);
      await settled();
    }
    return answer;
  };
  return { said, servers };
}

const deciding = (...decisions: Decision[]) =>
  Object.entries(rows).filter(([, { decides }]) => decisions.includes(decides));

describe('over the control socket', () => {
  it('every kind of request has a decision #roles-deny', () => {
    const kinds = askSchema.options.map(({ shape }) => shape.ask.value);
    expect(Object.keys(rows).sort()).toEqual([...kinds].sort());
  });

  it.each(deciding('the server', 'the server, for operators'))(
    '%s of a server that the role does not see is answered as for one that does not exist #roles-deny',
    async (_, { ask }) => {
      const { said, servers } = world(true);
      const missing = await said(ask('missing'));
      expect(await said(ask('hidden'))).toBe(missing.replaceAll('missing', 'hidden'));
      expect(missing).toMatch(/^denied: /);
      expect(missing).not.toContain('hidden');
      expect(servers.hidden.children).toEqual([]);
      expect(await said(ask('seen'))).not.toMatch(/^denied: /);
    },
  );

  it.each(deciding('the server, for operators'))(
    '%s is for operators #roles-deny',
    async (_, { ask }) => {
      const { said } = world(false);
      expect(await said(ask('seen'))).toMatch(/^denied: /);
    },
  );

  it.each(deciding('the server', 'each entry'))(
    '%s says nothing of what the role does not see #roles-deny',
    async (_, { ask }) => {
      const { said } = world(false);
      await said(rows.tools.ask('seen'));
      const answer = await said(ask('seen'));
      expect(answer).not.toMatch(/hidden|write/);
    },
  );

  it.each(deciding('nothing'))(
    '%s is the local user alone to ask for #roles-deny',
    async (_, { ask }) => {
      const { said } = world(false);
      expect(await said(ask(''))).toMatch(/^(done|{"kind":"pending".*})$/);
    },
  );
});
