import { describe, expect, it } from 'vitest';
import {
  bareClass,
  classOf,
  classWith,
  covers,
  distance,
  everyClass,
  unionOf,
} from './client-class.ts';

const declared = (capabilities: object) => classOf(JSON.stringify(capabilities));

describe('the class of a client', () => {
  it('is the same for clients that can be asked the same, whatever else they declare', () => {
    const one = declared({
      roots: { listChanged: true },
      elicitation: {},
      experimental: { x: {} },
    });
    const other = declared({ elicitation: { form: {} }, roots: {}, tasks: {} });
    expect(one.key).toBe(other.key);
    expect(JSON.parse(one.capabilities)).toEqual({
      roots: { listChanged: true },
      elicitation: { form: {} },
    });
  });

  it('tells modes and extensions apart', () => {
    const keys = [
      {},
      { elicitation: {} },
      { elicitation: { url: {} } },
      { elicitation: { form: {}, url: {} } },
      { sampling: {} },
      { sampling: { tools: {} } },
      { extensions: { a: {} } },
      { extensions: { a: { x: 1 } } },
    ].map((capabilities) => declared(capabilities).key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it.each(['null', '5', '[]', '"x"', '{"roots":true,"sampling":[],"extensions":{"a":1}}'])(
    'of a client that declares %s is that of one that can be asked nothing',
    (capabilities) => expect(classOf(capabilities)).toEqual(bareClass),
  );

  it('takes names from outside for what they are', () => {
    const names = ['__proto__', 'constructor', 'toString'];
    const text = `{"extensions":{${names.map((name) => `"${name}":{"v":1}`).join(',')}}}`;
    const { extensions } = JSON.parse(classOf(text).capabilities) as { extensions: object };
    expect(Object.keys(extensions).sort()).toEqual([...names].sort());
  });

  it('is bounded, whatever a client declares', () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`x/${at}`, {}]));
    expect(declared({ extensions: many }).features.size).toBe(16);
    expect(declared({ extensions: { x: { text: 'y'.repeat(5_000) } } })).toEqual(bareClass);
  });

  it('comes back from what was kept', () => {
    const one = declared({ roots: {}, sampling: { tools: {} }, extensions: { 'x/y': { a: [1] } } });
    expect(classWith([...one.features])).toEqual(one);
    expect(classWith(['extension', 'extension 5', 'extension ["x"]', 'extension {'])).toEqual(
      classWith(['extension']),
    );
  });
});

describe('two classes', () => {
  const roots = declared({ roots: {} });
  const forms = declared({ elicitation: {} });

  it('cover each other if they are the same, and a larger one covers a smaller one', () => {
    expect([covers(roots, roots), covers(roots, bareClass), covers(bareClass, roots)]).toEqual([
      true,
      true,
      false,
    ]);
    expect([covers(everyClass, roots), covers(roots, forms)]).toEqual([true, false]);
  });

  it('are both covered by their union', () => {
    const union = unionOf([roots, forms]);
    expect([covers(union, roots), covers(union, forms), distance(union, roots)]).toEqual([
      true,
      true,
      1,
    ]);
  });
});
