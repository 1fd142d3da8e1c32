import { describe, expect, it } from 'vitest';
import { ClientCapabilities } from './client-capabilities.ts';

const url = Buffer.from('{"mode":"url","url":"https://x"}');
const form = Buffer.from('{"message":"?"}');

function asks(declared: unknown, method: string, params?: Buffer): boolean {
  return new ClientCapabilities(declared).allows(method, params);
}

describe('what a client may be asked', () => {
  it.each([
    ['roots/list', 'roots'],
    ['sampling/createMessage', 'sampling'],
    ['elicitation/create', 'elicitation'],
  ])('%s only if it has declared %s', (method, capability) => {
    expect(asks({}, method)).toBe(false);
    expect(asks({ [capability]: {} }, method)).toBe(true);
    for (const no of [null, true, 'x', []]) expect(asks({ [capability]: no }, method)).toBe(false);
  });

  it('is the form alone if it says no more of elicitation', () => {
    expect([asks({ elicitation: {} }, 'elicitation/create', form)]).toEqual([true]);
    expect(asks({ elicitation: {} }, 'elicitation/create', url)).toBe(false);
  });

  it('is exactly the modes that it names', () => {
    const byUrl = { elicitation: { url: {} } };
    expect(asks(byUrl, 'elicitation/create', url)).toBe(true);
    expect(asks(byUrl, 'elicitation/create', form)).toBe(false);
    const both = { elicitation: { url: {}, form: {} } };
    expect(asks(both, 'elicitation/create', form) && asks(both, 'elicitation/create', url)).toBe(
      true,
    );
  });

  it('is anything of which the protocol says nothing', () => {
    expect(asks({}, 'vendor/ask')).toBe(true);
  });

  it.each([undefined, null, 5, 'x', []])('is nothing if it declares %j', (declared) => {
    expect(asks(declared, 'sampling/createMessage')).toBe(false);
    expect(new ClientCapabilities(declared).modernText).toBe('{}');
  });
});

describe('a legacy client in the words of the modern era', () => {
  it('has a form if it declared only elicitation, and no notifications of its roots', () => {
    const { modernText } = new ClientCapabilities({
      roots: { listChanged: true },
      sampling: { tools: {} },
      elicitation: {},
      experimental: { x: 1 },
      tasks: {},
    });
    expect(JSON.parse(modernText)).toEqual({
      roots: {},
      sampling: { tools: {} },
      elicitation: { form: {} },
      experimental: { x: 1 },
    });
  });
});
