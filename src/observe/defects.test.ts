import { describe, expect, it } from 'vitest';
import { EventHub, type HostEvent } from './events.ts';

function newHub() {
  const hub = new EventHub(() => 5);
  const heard: HostEvent[] = [];
  hub.subscribe((event) => heard.push(event));
  return { hub, heard, defects: hub.defects };
}

describe('an error of our own', () => {
  it('is reported as `internal` with its cause and the place in the code', () => {
    const { defects, heard } = newHub();
    const fault = defects.caught(
      'a message of the server',
      new TypeError('no such thing'),
      'files',
    );
    expect(heard).toMatchObject([
      {
        kind: 'defect',
        server: 'files',
        code: 'internal',
        handled: 'a message of the server',
        detail: expect.stringMatching(/^TypeError: no such thing at .*defects\.test\.ts/),
        count: 1,
      },
    ]);
    expect(fault).toMatchObject({ code: 'internal', record: { server: 'files' } });
    expect(fault.message).toContain('no such thing');
  });

  it('that repeats is counted every time and reported at every power of ten', () => {
    const { defects, heard } = newHub();
    for (let n = 0; n < 250; n++) defects.caught('a timer', new Error('again'), 'files');
    defects.caught('a timer', new Error('again'), 'other');
    expect(heard.map((event) => event.kind === 'defect' && event.count)).toEqual([1, 10, 100, 1]);
    expect(defects.total).toBe(251);
  });

  it('tells nothing of the text that JSON.parse has quoted', () => {
    const { defects, heard } = newHub();
    try {
      JSON.parse('{"token":s3cret-0815}');
    } catch (error) {
      defects.caught('a call', error);
    }
    expect(JSON.stringify(heard)).not.toContain('s3cret');
    expect(heard).toMatchObject([{ detail: expect.stringMatching(/^SyntaxError at /) }]);
  });

  it.each([undefined, null, 'text', 5, { message: 'x' }, Object.create(null)])(
    'may be anything that was thrown: %s',
    (thrown) => {
      const { defects, heard } = newHub();
      expect(defects.caught('a call', thrown).code).toBe('internal');
      expect(heard).toMatchObject([{ detail: `threw ${typeof thrown}` }]);
    },
  );
});
