import { describe, expect, it } from 'vitest';
import { shownResult } from './content.ts';

const shown = (result: unknown, isEscaped = false) =>
  shownResult(Buffer.from(typeof result === 'string' ? result : JSON.stringify(result)), isEscaped);

describe('a result for a person', () => {
  it('is its text, one block after the other', () => {
    const content = [
      { type: 'text', text: 'one\n' },
      { type: 'text', text: 'two' },
    ];
    expect(shown({ content }).text).toBe('one\ntwo\n');
  });

  it('shows other content as one line each, with type, media type and size', () => {
    const content = [
      { type: 'image', mimeType: 'image/png', data: Buffer.alloc(1500).toString('base64') },
      { type: 'resource', resource: { uri: 'file:///a', mimeType: 'text/plain', text: 'ä' } },
      { type: 'resource_link', uri: 'file:///b\u001b[0m' },
      { type: 'hologram', depth: 3 },
      'nonsense',
    ];
    expect(shown({ content }).text).toBe(
      [
        '[image image/png 1.5 kB]',
        '[resource text/plain file:///a 2 bytes]',
        '[resource_link file:///b\\x1b[0m]',
        '[hologram]',
        '[content]',
        '',
      ].join('\n'),
    );
  });

  it('shows structured content only where there is no text, with its numbers as they came', () => {
    const structured = '{"id":9007199254740993,"list":[1.0,{}],"none":[]}';
    const alone = `{"content":[],"structuredContent":${structured}}`;
    expect(shown(alone).text).toBe(
      '{\n  "id": 9007199254740993,\n  "list": [\n    1.0,\n    {}\n  ],\n  "none": []\n}\n',
    );
    const both = `{"content":[{"type":"text","text":"said"}],"structuredContent":${structured}}`;
    expect(shown(both).text).toBe('said\n');
  });

  it('leaves text alone for a pipe and escapes it for a terminal', () => {
    const result = { content: [{ type: 'text', text: 'a\u001b[2Jb\r\nc' }] };
    expect(shown(result, false).text).toBe('a\u001b[2Jb\r\nc\n');
    expect(shown(result, true).text).toBe('a\\x1b[2Jb\nc\n');
  });

  it('knows an error and an unfinished answer', () => {
    expect(shown({ content: [], isError: true }).isError).toBe(true);
    expect(shown({ content: [], isError: 'true' }).isError).toBe(false);
    expect(shown({ resultType: 'input_required' })).toMatchObject({
      text: '',
      resultType: 'input_required',
    });
  });
});
