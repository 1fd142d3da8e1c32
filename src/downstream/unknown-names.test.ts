// A request for a prompt or a resource that nobody has listed, after a restart of the gateway: what is
// stored about a server decides without starting it. Real gateway and host, scripted servers, manual
// clock.

import { describe, expect, it } from 'vitest';
import { newGateway, type RecordedReply, settled } from '../../test/support/fake-gateway.ts';
import { rooted, rootsOf, rootsTold, seconds } from '../../test/support/rooted-server.ts';
import { type Script, text, tool } from '../../test/support/scripted-server.ts';

/** Asks for roots at its start, and has tools only. */
const toolsOnly: Script = { ...rooted, capabilities: { tools: {} } };
/** The same, and it lists its tools only when it has roots. */
const toolsAfterRoots: Script = {
  ...toolsOnly,
  on: {
    ...rooted.on,
    'tools/list': (_heard, child) => ({ tools: rootsTold(child) === 'none' ? [] : [tool('a')] }),
  },
};
/** Asks for roots at its start, and has prompts and resources. */
const full: Script = {
  ...rooted,
  prompts: [{ name: 'p' }],
  resources: [{ uri: 'x://r', name: 'r' }],
  on: {
    ...rooted.on,
    'prompts/get': () => ({ messages: [] }),
    'resources/read': () => ({ contents: [] }),
  },
};

/** Asks in its calls for something that no list can depend on; all its lists but one are empty. */
const elicits: Script = {
  tools: [tool('a')],
  on: {
    'tools/call': ({ id }, child) => {
      child.ask(`in ${id}`, 'elicitation/create', { message: 'm', requestedSchema: {} });
      return text('asked');
    },
  },
};

const abilities = { roots: {}, elicitation: {} };

type Scripts = Readonly<Record<string, Script>>;

/** What a run with a client that has called all servers leaves behind. */
async function keptBy(scripts: Scripts) {
  const { legacy, clock, store } = newGateway(scripts);
  const peer = legacy(abilities);
  const talks = [peer.request('tools/list')];
  await seconds(5, clock, rootsOf(peer, 'file:///r', ...talks));
  const calls = Object.keys(scripts).map((name) =>
    peer.request('tools/call', { name: `${name}__a` }),
  );
  await seconds(5, clock, rootsOf(peer, 'file:///r', ...calls));
  for (const call of calls) expect(call.answers).toHaveLength(1);
  return store;
}

/** Asks for something in a later run, with the servers that were started for it. */
async function askedLater(
  kept: Scripts,
  scripts: Scripts,
  method: string,
  params: object,
): Promise<{ reply: RecordedReply; started: readonly string[] }> {
  const { legacy, clock, servers } = newGateway(scripts, { store: await keptBy(kept) });
  const peer = legacy(abilities);
  await settled();
  const reply = peer.request(method, params);
  await seconds(5, clock, rootsOf(peer, 'file:///r', reply));
  const started = Object.keys(scripts).filter((name) => servers[name]?.children.length !== 0);
  return { reply, started };
}

const ofResources = [
  ['resources/read', { uri: 'x://r' }],
  ['resources/directory/read', { uri: 'x://r' }],
  ['skills/get', { uri: 'x://r' }],
  ['resources/subscribe', { uri: 'x://r' }],
  ['completion/complete', { ref: { type: 'ref/resource', uri: 'x://r' }, argument: {} }],
] as const;
const ofPrompts = [
  ['prompts/get', { name: 'p' }],
  ['prompts/get', { name: 'a__p' }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'a__p' }, argument: {} }],
] as const;

describe('an unknown prompt or resource after a restart', () => {
  it.each([...ofResources, ...ofPrompts])(
    'is refused without starting servers that have none #lazy: %s %j',
    async (method, params) => {
      const scripts = { a: toolsOnly, b: toolsAfterRoots, c: elicits };
      const { reply, started } = await askedLater(scripts, scripts, method, params);
      expect(started).toEqual([]);
      expect(reply.answered.error).toMatchObject({
        code: -32602,
        message: expect.stringMatching(/unknown (resource|prompt)/i),
      });
    },
  );

  it.each(ofResources)(
    'is asked of a server of which nothing is known, and of no other: %s',
    async (method, params) => {
      const scripts = { a: toolsOnly, b: toolsOnly };
      const { started } = await askedLater(scripts, { ...scripts, c: {} }, method, params);
      expect(started).toEqual(['c']);
    },
  );

  it.each([
    ['resources/read', { uri: 'x://r' }],
    ['prompts/get', { name: 'b__p' }],
  ])(
    'is found at a server that asks its clients and had listed none: %s',
    async (method, params) => {
      const kept = { a: toolsOnly, b: rooted };
      const { reply, started } = await askedLater(kept, { ...kept, b: full }, method, params);
      expect(started).toEqual(['b']);
      expect(reply.answered.error).toBeUndefined();
    },
  );
});
