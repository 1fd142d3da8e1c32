import { describe, expect, it } from 'vitest';
import { definitionDigest, readTools, type Tool } from './tool.ts';

const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };

function onlyTool(definition: object): Tool {
  const { tools, leftOut } = readTools([definition]);
  const [tool] = tools;
  if (tool === undefined) throw new Error(`left out: ${JSON.stringify(leftOut)}`);
  return tool;
}

describe('reading tools', () => {
  it('takes what it needs and keeps the definition as it came', () => {
    const definition = {
      name: 'read_file',
      title: 'Read a file',
      description: 'Reads.',
      inputSchema,
      annotations: { readOnlyHint: true, title: 'other' },
      'x-vendor': [1, 2],
    };
    expect(onlyTool(definition)).toEqual({
      name: 'read_file',
      title: 'Read a file',
      description: 'Reads.',
      inputSchema,
      annotations: { readOnlyHint: true },
      definition,
    });
  });

  it('needs a name and a schema and nothing else', () => {
    expect(onlyTool({ name: 'x', inputSchema })).toEqual({
      name: 'x',
      inputSchema,
      annotations: {},
      definition: { name: 'x', inputSchema },
    });
  });

  it('takes for a hint only a real boolean', () => {
    const annotations = {
      readOnlyHint: 'true',
      destructiveHint: 1,
      idempotentHint: false,
      openWorldHint: null,
    };
    const tool = onlyTool({ name: 'x', inputSchema, annotations });
    expect(tool.annotations).toEqual({ idempotentHint: false });
  });

  it('leaves out an invalid tool and keeps the others', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`);
    const { tools, leftOut } = readTools([
      null,
      ['name'],
      { inputSchema },
      { name: '', inputSchema },
      { name: 7, inputSchema },
      { name: 'a' },
      { name: 'b', inputSchema: [] },
      { name: 'c', inputSchema: { type: 'string' } },
      { name: 'd', inputSchema, title: 1 },
      { name: 'e', inputSchema, description: null },
      { name: 'f', inputSchema, annotations: 'readOnly' },
      { name: 'g', inputSchema: { type: 'object', ...deep } },
      { name: 'good', inputSchema },
    ]);
    expect(tools.map((tool) => tool.name)).toEqual(['good']);
    expect(leftOut).toEqual([
      { kind: 'not_an_object', index: 0 },
      { kind: 'not_an_object', index: 1 },
      { kind: 'no_name', index: 2 },
      { kind: 'no_name', index: 3 },
      { kind: 'no_name', index: 4 },
      { kind: 'bad_member', index: 5, name: 'a', member: 'inputSchema' },
      { kind: 'bad_member', index: 6, name: 'b', member: 'inputSchema' },
      { kind: 'bad_member', index: 7, name: 'c', member: 'inputSchema' },
      { kind: 'bad_member', index: 8, name: 'd', member: 'title' },
      { kind: 'bad_member', index: 9, name: 'e', member: 'description' },
      { kind: 'bad_member', index: 10, name: 'f', member: 'annotations' },
      { kind: 'too_deep', index: 11, name: 'g' },
    ]);
  });

  it('survives a definition that is nested without end', () => {
    const depth = 100_000;
    const nested = JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);
    const { leftOut } = readTools([{ name: 'x', inputSchema, _meta: { nested } }]);
    expect(leftOut).toEqual([{ kind: 'too_deep', index: 0, name: 'x' }]);
  });

  it('keeps the first of two tools with one name', () => {
    const { tools, leftOut } = readTools([
      { name: 'x', inputSchema, description: 'first' },
      { name: 'x', inputSchema, description: 'second' },
    ]);
    expect(tools.map((tool) => tool.description)).toEqual(['first']);
    expect(leftOut).toEqual([{ kind: 'duplicate', index: 1, name: 'x' }]);
  });

  it.each([[undefined], [null], ['tools'], [{ length: 1 }]])('reads no tools from %s', (listed) => {
    expect(readTools(listed)).toEqual({ tools: [], leftOut: [] });
  });
});

describe('the digest of a definition', () => {
  const definition = {
    name: 'x',
    title: 'X',
    description: 'Does x.',
    inputSchema: { type: 'object', properties: { a: { enum: [1, 2] } }, required: ['a'] },
    outputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
    _meta: { v: 1 },
    icons: [{ src: 'data:,' }],
  };
  const digest = (changes: object) => definitionDigest(onlyTool({ ...definition, ...changes }));

  it('does not depend on the order of keys at any depth', () => {
    const turned = {
      icons: [{ src: 'data:,' }],
      inputSchema: { required: ['a'], properties: { a: { enum: [1, 2] } }, type: 'object' },
      name: 'x',
      _meta: { v: 1 },
      annotations: { readOnlyHint: true },
      outputSchema: { type: 'object' },
      description: 'Does x.',
      title: 'X',
    };
    expect(definitionDigest(onlyTool(turned))).toBe(digest({}));
    expect(digest({})).toMatch(/^[0-9a-f]{64}$/);
  });

  it('does not depend on members that are not shown to anybody', () => {
    expect(digest({ execution: { taskSupport: 'optional' } })).toBe(digest({}));
  });

  it.each([
    ['the name', { name: 'y' }],
    ['the title', { title: 'x' }],
    ['no title', { title: undefined }],
    ['the description', { description: 'Does x. ' }],
    ['a schema', { inputSchema: { type: 'object' } }],
    [
      'the order of an array',
      { inputSchema: { ...definition.inputSchema, properties: { a: { enum: [2, 1] } } } },
    ],
    ['the output schema', { outputSchema: { type: 'object', description: '' } }],
    ['an annotation', { annotations: { readOnlyHint: false } }],
    ['an annotation that is not a hint', { annotations: { readOnlyHint: true, title: 'x' } }],
    ['an annotation that is no boolean', { annotations: { readOnlyHint: 'true' } }],
    ['a member of _meta', { _meta: { v: '1' } }],
    ['an own member called __proto__', { _meta: JSON.parse('{"v":1,"__proto__":{}}') }],
    ['an icon', { icons: [] }],
  ])('changes with %s', (_, changes) => {
    expect(digest(changes)).not.toBe(digest({}));
  });

  it('distinguishes an infinite number from null', () => {
    const endless = JSON.parse('{"v":1e400}');
    expect(digest({ _meta: endless })).not.toBe(digest({ _meta: { v: null } }));
    expect(digest({ _meta: endless })).not.toBe(digest({ _meta: JSON.parse('{"v":-1e400}') }));
  });
});
