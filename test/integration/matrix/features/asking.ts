// What a server asks back: sampling, elicitation and roots, one question or several, in calls, prompts
// and resources. Legacy servers send requests, modern ones answer input_required; a client hears the
// question in the words of its own era and need not know.

import { expect } from 'vitest';
import { type Json, type MatrixClient, type Question, root } from '../client.ts';
import { type Cell, callTool, type Feature } from '../feature.ts';

const form = {
  type: 'object',
  properties: { name: { type: 'string', title: 'Name', minLength: 1 } },
  required: ['name'],
};

export const askingFeatures: readonly Feature[] = [
  {
    needs: 'sdk',
    name: 'is asked to fill in a form',
    exercise: async (cell) => {
      const asked = answering(cell, () => ({ action: 'accept', content: { name: 'Ada' } }));
      const result = await callTool(cell, 'ask_form');
      expect(result).toMatchObject({
        structuredContent: { action: 'accept', content: { name: 'Ada' } },
      });
      expect(asked).toMatchObject([{ params: { requestedSchema: form } }]);
      expect(asked[0]?.params['message']).toContain(`Your name, ${cell.tag}?`);
    },
  },
  {
    needs: 'sdk',
    name: 'declines to fill in a form',
    exercise: async (cell) => {
      answering(cell, () => ({ action: 'decline' }));
      const { structuredContent } = await callTool(cell, 'ask_form');
      expect(structuredContent).toEqual({ action: 'decline' });
    },
  },
  {
    needs: 'sdk',
    name: 'is asked to visit a page',
    exercise: async (cell) => {
      const asked = answering(cell, () => ({ action: 'accept' }));
      const { structuredContent } = await callTool(cell, 'ask_url');
      expect(structuredContent).toEqual({ action: 'accept' });
      expect(asked).toMatchObject([
        { params: { mode: 'url', url: `https://example.com/visit?tag=${cell.tag}` } },
      ]);
      const { elicitationId } = asked[0]?.params ?? {};
      expect(typeof elicitationId).toBe(cell.client.era === 'legacy' ? 'string' : 'undefined');
    },
  },
  {
    needs: 'sdk',
    name: 'is refused until a page was visited, visits it and calls again',
    exercise: async (cell) => {
      const { client, tag, probe } = cell;
      const url = `https://example.com/visit?tag=${tag}`;
      const asked = answering(cell, async () => {
        await probe.release(tag);
        return { action: 'accept' };
      });
      if (client.era === 'legacy') {
        await expect(callTool(cell, 'need_url')).rejects.toMatchObject({
          code: -32042,
          data: { elicitations: [{ mode: 'url', url, elicitationId: `visit-${tag}` }] },
        });
        await probe.release(tag);
      }
      const result = await callTool(cell, 'need_url');
      expect(result).toMatchObject({ content: [{ text: 'visited' }] });
      const pages = asked.map(({ params }) => params['url']);
      expect(pages).toEqual(client.era === 'legacy' ? [] : [url]);
    },
  },
  {
    needs: 'sdk',
    name: "lends its model to the server's question",
    exercise: async (cell) => {
      const reply = answerOfModel(cell.tag);
      const asked = answering(cell, () => reply);
      const { structuredContent } = await callTool(cell, 'ask_model');
      expect(structuredContent).toMatchObject(reply);
      const messages = [{ role: 'user', content: { type: 'text', text: `What of ${cell.tag}?` } }];
      expect(asked).toMatchObject([
        { params: { messages, systemPrompt: 'Be brief.', temperature: 0.25, maxTokens: 100 } },
      ]);
    },
  },
  {
    needs: 'sdk',
    name: 'is asked for its roots',
    exercise: async (cell) => {
      answering(cell, () => ({ roots: [root] }));
      const { structuredContent } = await callTool(cell, 'ask_roots');
      expect(structuredContent).toMatchObject({ roots: [root] });
    },
  },
  {
    needs: 'sdk',
    name: 'is asked twice, the second question following from the first answer',
    exercise: async (cell) => {
      const names = ['Ada', 'Grace'];
      const asked = answering(cell, () => ({ action: 'accept', content: { name: names.shift() } }));
      const { structuredContent } = await callTool(cell, 'ask_twice');
      expect(structuredContent).toEqual({ first: 'Ada', second: 'Grace' });
      const messages = asked.map(({ params }) => params['message']);
      expect(messages).toEqual([
        expect.stringContaining(`First, ${cell.tag}?`),
        expect.stringContaining('Second, Ada?'),
      ]);
    },
  },
  {
    needs: 'sdk',
    name: 'is asked three things for one call',
    exercise: async (cell) => {
      const reply = answerOfModel(cell.tag);
      const answers: Readonly<Record<string, Json>> = {
        'elicitation/create': { action: 'accept', content: { name: 'Ada' } },
        'sampling/createMessage': reply,
        'roots/list': { roots: [root] },
      };
      const asked = answering(cell, ({ method }) => answers[method] ?? {});
      const { structuredContent } = await callTool(cell, 'ask_all');
      expect(structuredContent).toMatchObject({
        who: { content: { name: 'Ada' } },
        reply,
        where: { roots: [root] },
      });
      expect(asked.map(({ method }) => method).sort()).toEqual(Object.keys(answers).sort());
    },
  },
  {
    needs: 'sdk',
    name: 'is asked before it gets a prompt',
    exercise: async (cell) => {
      answering(cell, () => ({ action: 'accept', content: { name: cell.tag } }));
      const prompt = await cell.client.request('prompts/get', { name: cell.named('asking') });
      expect(prompt).toMatchObject({ messages: [{ content: { text: `Hello ${cell.tag}` } }, {}] });
    },
  },
  {
    needs: 'sdk',
    name: 'is asked before it reads a resource',
    exercise: async (cell) => {
      answering(cell, () => ({ action: 'accept', content: { name: cell.tag } }));
      const read = await cell.client.request('resources/read', { uri: 'memo://asking' });
      expect(read).toMatchObject({ contents: [{ text: `for ${cell.tag}` }] });
    },
  },
];

/** Answers every question of this cell; gives those that come. */
export function answering(
  { client }: Cell<MatrixClient>,
  answer: (question: Question) => Json | Promise<Json>,
): readonly Question[] {
  const asked: Question[] = [];
  client.conversation.answer = (question) => {
    asked.push(question);
    return answer(question);
  };
  return asked;
}

function answerOfModel(tag: string): Json {
  return {
    role: 'assistant',
    content: { type: 'text', text: `Everything of ${tag}.` },
    model: 'a-model',
    stopReason: 'endTurn',
  };
}
