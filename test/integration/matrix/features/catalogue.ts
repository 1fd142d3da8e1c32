// Tools, resources, templates, prompts and completion: what a server has, as it says it.

import { expect } from 'vitest';
import catalogue from '../../../fixtures/servers/matrix/catalogue.json' with { type: 'json' };
import { abilities, type Json } from '../client.ts';
import { callTool, type Feature, listAll } from '../feature.ts';

/** What no SDK removes on its way through; the rest is the raw client's business. */
const decorated = ['echo', 'sum', 'decorated', 'show'];

export const catalogueFeatures: readonly Feature[] = [
  {
    needs: 'sdk',
    name: 'lists every tool, page by page',
    exercise: async ({ client, named }) => {
      const listed = (await listAll(client, 'tools/list', 'tools')).map(({ name }) => name);
      expect(new Set(listed).size).toBe(listed.length);
      expect(listed).toEqual(
        expect.arrayContaining(catalogue.tools.map(({ name }) => named(name))),
      );
      expect(await client.toolNames()).toEqual(listed);
    },
  },
  {
    needs: 'sdk',
    name: 'sees icons, annotations, schemas and _meta of a tool',
    exercise: async ({ client, named }) => {
      const listed = await listAll(client, 'tools/list', 'tools');
      for (const name of decorated) {
        const expected = catalogue.tools.find((tool) => tool.name === name);
        const found = listed.find((tool) => tool['name'] === named(name));
        expect(found).toEqual({ ...expected, name: named(name) });
      }
    },
  },
  {
    needs: 'sdk',
    name: 'calls a tool',
    exercise: async (cell) => {
      const { content } = await callTool(cell, 'echo', { text: `hé ${cell.tag}` });
      expect(content).toEqual([{ type: 'text', text: `hé ${cell.tag}` }]);
    },
  },
  {
    needs: 'sdk',
    name: 'gets structured content',
    exercise: async (cell) => {
      const result = await callTool(cell, 'sum', { a: 1, b: 2.5 });
      expect(result).toMatchObject({ structuredContent: { sum: 3.5 } });
    },
  },
  {
    needs: 'sdk',
    name: 'gets structured content that is not an object, as far as its era allows',
    exercise: async (cell) => {
      const { content, structuredContent } = await callTool(cell, 'numbers');
      expect(content).toMatchObject([{ type: 'text', text: '[1,2]' }]);
      if (cell.client.era === 'modern') expect(structuredContent).toEqual([1, 2]);
      else expect([undefined, { result: [1, 2] }]).toContainEqual(structuredContent);
    },
  },
  {
    needs: 'sdk',
    name: 'gets a result that is an error of the tool',
    exercise: async (cell) => {
      const result = await callTool(cell, 'fail');
      expect(result).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: 'It did not work.' }],
      });
      expect(result['_meta'] ?? {}).not.toHaveProperty('holdfast/fault');
    },
  },
  {
    needs: 'sdk',
    name: 'gets the error that the server answered',
    exercise: async (cell) => {
      await expect(callTool(cell, 'refuse')).rejects.toMatchObject({
        code: 4242,
        data: { why: ['because', 1] },
      });
    },
  },
  {
    needs: 'sdk',
    name: 'lists every resource, page by page',
    exercise: async ({ client }) => {
      const listed = await listAll(client, 'resources/list', 'resources');
      expect(new Set(listed.map(({ uri }) => uri)).size).toBe(listed.length);
      expect(listed).toEqual(expect.arrayContaining(catalogue.resources));
    },
  },
  {
    needs: 'sdk',
    name: 'reads a resource, as text and as bytes',
    exercise: async ({ client }) => {
      const board = await client.request('resources/read', { uri: 'memo://board' });
      expect(board['contents']).toEqual([
        { uri: 'memo://board', mimeType: 'text/plain', ...catalogue.contents['memo://board'] },
      ]);
      const dot = await client.request('resources/read', { uri: 'memo://dot' });
      expect(dot['contents']).toEqual([
        { uri: 'memo://dot', mimeType: 'image/gif', ...catalogue.contents['memo://dot'] },
      ]);
    },
  },
  {
    needs: 'sdk',
    name: 'is told that a resource is not there',
    exercise: async ({ client }) => {
      await expect(
        client.request('resources/read', { uri: 'memo://nowhere' }),
      ).rejects.toMatchObject({
        code: -32602,
      });
    },
  },
  {
    needs: 'sdk',
    name: 'lists the resource templates, page by page, and reads what one makes',
    exercise: async ({ client, tag }) => {
      const listed = await listAll(client, 'resources/templates/list', 'resourceTemplates');
      expect(listed).toEqual(catalogue.templates);
      const uri = `memo://note/${tag}`;
      const { contents } = await client.request('resources/read', { uri });
      expect(contents).toMatchObject([{ uri, text: `note ${tag}` }]);
    },
  },
  {
    needs: 'sdk',
    name: 'lists every prompt, page by page',
    exercise: async ({ client, named }) => {
      const listed = await listAll(client, 'prompts/list', 'prompts');
      const expected = catalogue.prompts.map((prompt) => ({ ...prompt, name: named(prompt.name) }));
      expect(listed).toEqual(expect.arrayContaining(expected));
    },
  },
  {
    needs: 'sdk',
    name: 'gets a prompt with its argument',
    exercise: async ({ client, named, tag }) => {
      const greeting = await client.request('prompts/get', {
        name: named('greet'),
        arguments: { name: tag },
      });
      expect(greeting['messages']).toEqual([
        { role: 'user', content: { type: 'text', text: `Hello ${tag}` } },
        {
          role: 'assistant',
          content: { type: 'resource_link', uri: 'memo://board', name: 'board' },
        },
      ]);
    },
  },
  {
    needs: 'sdk',
    name: 'completes the argument of a prompt',
    exercise: async ({ client, named }) => {
      const { completion } = await client.request('completion/complete', {
        ref: { type: 'ref/prompt', name: named('greet') },
        argument: { name: 'name', value: 'Ad' },
      });
      expect(completion).toMatchObject({ values: ['Ad-a', 'Ad-b', 'greet:'], total: 3 });
    },
  },
  {
    needs: 'sdk',
    name: 'completes the variable of a resource template, in its context',
    exercise: async ({ client }) => {
      const uri = 'memo://book/{book}/{+page}';
      const { completion } = await client.request('completion/complete', {
        ref: { type: 'ref/resource', uri },
        argument: { name: 'page', value: '1' },
        context: { arguments: { book: 'Emma' } },
      });
      expect((completion as Json)['values']).toEqual(['1-a', '1-b', `${uri}:Emma`]);
    },
  },
  {
    needs: 'sdk',
    name: 'is refused with a cursor from elsewhere',
    exercise: async ({ client }) => {
      for (const method of ['tools/list', 'prompts/list', 'resources/list']) {
        await expect(client.request(method, { cursor: 'elsewhere' })).rejects.toMatchObject({
          code: -32602,
        });
      }
    },
  },
  {
    needs: 'sdk',
    name: 'sees the page of an app',
    exercise: async ({ client }) => {
      expect(client.capabilities()).toMatchObject({
        extensions: { 'io.modelcontextprotocol/ui': {} },
      });
      const uri = 'ui://matrix/page.html';
      const { contents } = await client.request('resources/read', { uri });
      const mimeType = 'text/html;profile=mcp-app';
      expect(contents).toEqual([{ uri, mimeType, ...catalogue.contents[uri] }]);
    },
  },
  {
    needs: 'sdk',
    name: 'makes known what it can do, extensions too',
    exercise: async (cell) => {
      const { structuredContent } = await callTool(cell, 'client');
      expect(structuredContent).toMatchObject({ declared: { ...abilities, roots: {} } });
    },
  },
];
