// What only a client without an SDK can see: the bytes, what no revision knows, its own ids and
// tokens, the shape of questions on the wire.

import { expect } from 'vitest';
import catalogue from '../../../fixtures/servers/matrix/catalogue.json' with { type: 'json' };
import { until } from '../../../support/until.ts';
import type { Json } from '../client.ts';
import type { Feature } from '../feature.ts';
import type { RawClient } from '../raw-client.ts';

const text = JSON.stringify;

export const rawFeatures: readonly Feature[] = [
  {
    needs: 'raw',
    name: 'sends arguments that arrive byte for byte',
    exercise: async ({ client, named, tag, probe }) => {
      const args = `{ "spelling" : "${tag}","big":9007199254740993,"f":1.0,"h":1e400,"e":"\\u00e9\\/","t":{"a":1,"a":2}}`;
      const answer = await client.request(tag, 'tools/call', {
        name: text(named('echo')),
        arguments: args,
      });
      expect(answer.message['id']).toBe(tag);
      const arrived = () => probe.entries('received').map((entry) => String(entry['text']));
      await until(() => arrived().some((body) => body.includes(tag)), 'the call arrives', 8_000);
      expect(arrived().find((body) => body.includes(tag))).toContain(args);
    },
  },
  {
    needs: 'raw',
    name: 'gets a result byte for byte',
    exercise: async ({ client, named }) => {
      const answer = await client.request(7, 'tools/call', { name: text(named('spelled')) });
      expect(answer.text).toContain(
        '"structuredContent":{"big":9007199254740993,"float":1.0,"huge":1e400,"escaped":"\\u00e9\\/","twice":{"a":1,"a":2}}',
      );
    },
  },
  {
    needs: 'raw',
    name: 'gets content and members that no revision knows',
    exercise: async ({ client, named }) => {
      const answer = await client.request('odd', 'tools/call', { name: text(named('odd')) });
      const content = [
        { type: 'hologram', beams: [1, 2], _meta: { 'example.com/kept': true } },
        { type: 'text', text: 'plain', 'x-vendor': { rank: 7 }, annotations: { 'x-hint': 'kept' } },
      ];
      expect(answer.text).toContain(`"content":${text(content)}`);
      expect(answer.text).toContain('"x-result":["kept",null]');
      const { resultType } = answer.message['result'] as Json;
      expect(resultType).toBe(client.era === 'legacy' ? undefined : 'complete');
    },
  },
  {
    needs: 'raw',
    name: 'lists definitions that are byte for byte as the server has them, but for the names',
    exercise: async ({ client, named }) => {
      const tools = await pagesOf(client, 'tools/list');
      for (const { name, ...rest } of catalogue.tools) {
        expect(tools).toContain(`{"name":${text(named(name))},${text(rest).slice(1)}`);
      }
      const prompts = await pagesOf(client, 'prompts/list');
      for (const { name, ...rest } of catalogue.prompts) {
        expect(prompts).toContain(`{"name":${text(named(name))},${text(rest).slice(1)}`);
      }
      const resources = await pagesOf(client, 'resources/list');
      for (const resource of catalogue.resources) expect(resources).toContain(text(resource));
      const templates = await pagesOf(client, 'resources/templates/list');
      for (const template of catalogue.templates) expect(templates).toContain(text(template));
    },
  },
  {
    needs: 'raw',
    name: 'finds its own progress token in what it hears',
    exercise: async ({ client, named, tag, probe }) => {
      for (const [at, progressToken] of [`token ${tag}`, 9007199254740991].entries()) {
        const before = client.heard.length;
        const steps = () =>
          client.heard
            .slice(before)
            .filter(({ message }) => message['method'] === 'notifications/progress')
            .map(({ message }) => message['params']);
        const call = client.request(
          `steps-${tag}-${at}`,
          'tools/call',
          {
            name: text(named('steps')),
            arguments: text({ tag: `${tag}-${at}` }),
          },
          { progressToken },
        );
        await until(() => steps().length === 2, 'both steps are heard', 8_000);
        await probe.release(`${tag}-${at}`);
        await call;
        expect(steps()).toMatchObject([
          { progressToken, progress: 1 },
          { progressToken, progress: 2.5 },
        ]);
      }
    },
  },
  {
    needs: 'raw',
    name: 'is asked in the words of its era, and an answer sent twice executes once',
    exercise: async (cell) => {
      const { client, named, tag, probe } = cell;
      const call = { name: text(named('ask_form')), arguments: text({ tag }) };
      const accepted = { action: 'accept', content: { name: 'Ada' } };
      const result =
        client.era === 'legacy'
          ? await answeredTwiceByResponse(client, call, accepted)
          : await answeredTwiceByCall(client, call, accepted);
      expect(result).toMatchObject({ structuredContent: accepted });
      expect(probe.entries('executed', { tag })).toHaveLength(1);
    },
  },
  {
    needs: 'raw',
    name: 'is not believed when it forges an answer',
    exercise: async ({ client, named, tag, probe }) => {
      const call = { name: text(named('ask_form')), arguments: text({ tag }) };
      if (client.era === 'modern') {
        expect(await forgedState(client, call)).toMatchObject({ error: { code: -32602 } });
        expect(probe.entries('executed', { tag })).toEqual([]);
      } else {
        expect(await forgedId(client, call)).toMatchObject({
          structuredContent: { action: 'decline' },
        });
        expect(probe.entries('executed', { tag })).toHaveLength(1);
      }
    },
  },
];

/** The text of all pages. */
async function pagesOf(client: RawClient, method: string): Promise<string> {
  let pages = '';
  for (let cursor: unknown = '', page = 0; cursor !== undefined; page++) {
    const members = page === 0 ? {} : { cursor: text(cursor) };
    const answer = await client.request(`${method}-${page}`, method, members);
    pages += answer.text;
    cursor = (answer.message['result'] as Json)['nextCursor'];
  }
  return pages;
}

type Call = Readonly<Record<string, string>>;

/** Modern: the question is the result, and the answer is the next call: sent twice at once, and later. */
async function answeredTwiceByCall(client: RawClient, call: Call, answer: Json): Promise<Json> {
  const asked = await client.result('ask', 'tools/call', call);
  expect(asked).toMatchObject({ resultType: 'input_required' });
  expect(Object.values(asked['inputRequests'] as Json)).toMatchObject([
    { method: 'elicitation/create' },
  ]);
  expect(typeof asked['requestState']).toBe('string');
  const members = {
    ...call,
    inputResponses: text(answersTo(asked['inputRequests'], answer)),
    requestState: text(asked['requestState']),
  };
  const send = (id: string) => client.request(id, 'tools/call', members);
  const answers = await Promise.all([send('first'), send('second')]);
  await send('later');
  const answered = answers.find(({ message }) => message['result'] !== undefined);
  return answered?.message['result'] as Json;
}

/** Legacy: the question is a request, and the answer its response; it is sent two times. */
async function answeredTwiceByResponse(client: RawClient, call: Call, answer: Json): Promise<Json> {
  const { id, result } = await asked(client, call);
  for (const _time of ['first', 'second']) await client.respond(id, answer);
  return result;
}

/** Modern: the state that came back is not the one that was given out. */
async function forgedState(client: RawClient, call: Call): Promise<Json> {
  const { requestState, inputRequests } = await client.result('forge-1', 'tools/call', call);
  const forged = `${String(requestState).slice(0, -4)}AAAA`;
  const answer = await client.request('forge-2', 'tools/call', {
    ...call,
    inputResponses: text(answersTo(inputRequests, { action: 'accept', content: { name: 'Eve' } })),
    requestState: text(forged),
  });
  return answer.message;
}

/** Legacy: an answer to something that was never asked, before the right one. */
async function forgedId(client: RawClient, call: Call): Promise<Json> {
  const { id, result } = await asked(client, call);
  await client.respond(`${id}-forged`, { action: 'accept', content: { name: 'Eve' } });
  await client.respond(id, { action: 'decline' });
  return result;
}

/** Calls a tool of a server that asks by a request, and waits for the question. */
async function asked(client: RawClient, call: Call) {
  const before = client.heard.length;
  const result = client.result('ask', 'tools/call', call);
  const question = () =>
    client.heard.slice(before).find(({ message }) => message['method'] === 'elicitation/create');
  await until(() => question() !== undefined, 'the question comes', 8_000);
  return { id: question()?.message['id'], result };
}

function answersTo(inputRequests: unknown, answer: Json): Json {
  return Object.fromEntries(Object.keys(inputRequests as Json).map((key) => [key, answer]));
}
