// What is decided on is what the server reads: a request in which another member could be taken for the one
// that was authorised is refused, and no server hears of it.

import { describe, expect, it, vi } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { tool } from '../../test/support/scripted-server.ts';
import { objectAt } from '../wire/parts.ts';
import { WireError } from '../wire/wire-error.ts';
import { assertOneReading } from './decided-members.ts';

const roles = {
  narrow: { allow: ['docs/open', 'prompt:docs/open', 'resource:docs/x://open*'] },
};
const principal = { id: 'token:narrow', role: 'narrow' };

async function narrowClient() {
  const asked: unknown[] = [];
  const note = (answer: object) => (heard: { readonly params: unknown }) => {
    asked.push(heard.params);
    return answer;
  };
  const script = {
    capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
    tools: [tool('open'), tool('secret')],
    prompts: [{ name: 'open' }, { name: 'secret' }],
    resources: [
      { uri: 'x://open', name: 'open' },
      { uri: 'x://secret', name: 'secret' },
    ],
    resourceTemplates: [{ uriTemplate: 'x://open/{n}', name: 'n' }],
    on: {
      'tools/call': note({ content: [] }),
      'prompts/get': note({ messages: [] }),
      'resources/read': note({ contents: [] }),
      'completion/complete': note({ completion: { values: [] } }),
    },
  };
  const { legacy } = newGateway({ docs: script }, { settings: { roles } });
  const peer = legacy({}, principal);
  for (const list of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
    peer.request(list);
    await settled();
  }
  return { peer, asked };
}

const prompt = { type: 'ref/prompt', name: 'docs__open' };
const resource = { type: 'ref/resource', uri: 'x://open/{n}' };
const argument = { name: 'n', value: '' };

describe('a request that names two things', () => {
  it.each([
    ['completion/complete', { ref: { ...prompt, uri: 'x://secret' }, argument }],
    ['completion/complete', { ref: { ...resource, name: 'secret' }, argument }],
    ['completion/complete', { ref: { ...prompt, type: 'ref/resource' }, argument }],
    ['completion/complete', { ref: { ...resource, type: 'ref/prompt' }, argument }],
    ['completion/complete', { ref: { ...prompt, type: 'ref/other' }, argument }],
    ['completion/complete', { ref: { ...prompt, type: ['ref/prompt'] }, argument }],
    ['completion/complete', { ref: { name: 'docs__open' }, argument }],
    ['completion/complete', { ref: { ...prompt, Name: 'secret' }, argument }],
    ['completion/complete', { ref: { ...prompt, TYPE: 'ref/resource' }, argument }],
    ['completion/complete', { ref: prompt, Ref: { ...prompt, name: 'secret' }, argument }],
    ['tools/call', { name: 'docs__open', Name: 'secret' }],
    ['tools/call', { NAME: 'secret', name: 'docs__open' }],
    ['tools/call', { name: 'docs__open', _Meta: { progressToken: 1 } }],
    ['prompts/get', { name: 'docs__open', nAme: 'secret' }],
    ['resources/read', { uri: 'x://open', URI: 'x://secret' }],
    ['resources/read', { uri: 'x://open', Uri: 'x://secret' }],
  ])('%s %j is refused #roles-deny', async (method, params) => {
    const { peer, asked } = await narrowClient();
    const reply = peer.request(method, params);
    await settled();
    expect(reply.answered.error).toBeDefined();
    expect(asked).toEqual([]);
  });

  it.each([
    ['completion/complete', { ref: prompt, argument }, 'open'],
    ['completion/complete', { ref: { ...prompt, title: 'x' }, argument }, 'open'],
    ['completion/complete', { ref: resource, argument }, 'x://open/{n}'],
    ['tools/call', { name: 'docs__open', arguments: { name: 'a', Name: 'b' } }, 'open'],
    ['resources/read', { uri: 'x://open' }, 'x://open'],
  ])('%s %j is not one: it is passed on', async (method, params, name) => {
    const { peer, asked } = await narrowClient();
    const reply = peer.request(method, params);
    await settled();
    expect(reply.answered.error).toBeUndefined();
    expect(JSON.stringify(asked)).toContain(JSON.stringify(name));
  });

  it.each(['ta\u017fkId', 'tas\u212aId', 'TASKID'])('%s is a task id for some', async (key) => {
    const { peer } = await narrowClient();
    const reply = peer.request('tasks/get', { taskId: 'x', [key]: 'y' });
    await settled();
    expect(reply.answered.error?.code).toBe(-32_600);
  });
});

describe('a key', () => {
  function judged(key: string): void {
    const bytes = Buffer.from(`{"${key}":1}`);
    assertOneReading(bytes, objectAt(bytes, { start: 0, end: bytes.length }));
  }

  /** As bold letters of mathematics, each two escapes. */
  function bold(word: string): string {
    const letters = [...word].map((letter) => {
      const isCapital = letter < 'a';
      const first = isCapital ? 0x1d400 - 65 : 0x1d41a - 97;
      return String.fromCodePoint(first + letter.charCodeAt(0));
    });
    const units = [...letters.join('')].flatMap((letter) => [
      letter.charCodeAt(0),
      letter.charCodeAt(1),
    ]);
    return units.map((unit) => `\\u${unit.toString(16)}`).join('');
  }

  it.each(['name', 'inputResponses'])('that looks like %s is found in its longest form', (word) => {
    expect(() => judged(bold(word))).toThrow(WireError);
  });

  it('of megabytes is not folded #no-growth', () => {
    const normalize = vi.spyOn(String.prototype, 'normalize');
    try {
      judged('\ufdfa'.repeat(1_000_000));
      expect(normalize).not.toHaveBeenCalled();
    } finally {
      normalize.mockRestore();
    }
  });
});
