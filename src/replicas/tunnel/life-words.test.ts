// The sign of life between replicas: what is asked and answered about their tunnels, and what is believed.

import { describe, expect, it } from 'vitest';
import {
  answerBytes,
  mostNames,
  namesFrom,
  questionBytes,
  questionIn,
  unknownIn,
} from './life-words.ts';

const secret = Buffer.alloc(32, 'secret');
const other = Buffer.alloc(32, 'other');
const subject = 'hf.life.aaaaaaaa';
const question = { subject, nonce: 'a nonce', tunnels: ['11111111', '22222222'] };

describe('a question for a sign of life', () => {
  it('is read as it was asked, where it was asked, and by those with the key #replicas', () => {
    const body = questionBytes(secret, question);
    expect(questionIn(secret, subject, body)).toEqual(question);
    expect(questionIn(secret, 'hf.life.bbbbbbbb', body)).toBeUndefined();
    expect(questionIn(other, subject, body)).toBeUndefined();
    for (const bad of ['', '{}', '[]', '{"nonce":"a","tunnels":["*"]}', '{"nonce":1}']) {
      expect(questionIn(secret, subject, Buffer.from(bad))).toBeUndefined();
    }
  });

  it('has an answer that is believed for this question only #replicas', () => {
    const body = answerBytes(secret, question, ['22222222']);
    expect(unknownIn(secret, question, body)).toEqual(['22222222']);
    expect(unknownIn(secret, { ...question, nonce: 'another' }, body)).toEqual([]);
    expect(unknownIn(other, question, body)).toEqual([]);
    const forged = '{"unknown":["22222222"],"proof":"x"}';
    for (const bad of ['', 'null', '{}', forged]) {
      expect(unknownIn(secret, question, Buffer.from(bad))).toEqual([]);
    }
  });

  it('has no more names than fit, and each has its turn #replicas', () => {
    const names = Array.from({ length: 5 }, (_, at) => `${at}`.repeat(64));
    const asked: string[] = [];
    let from = 0;
    for (let turn = 0; turn < 3; turn += 1) {
      const [part, next] = namesFrom(names, from, 2);
      asked.push(...part);
      from = next;
    }
    expect([asked, from]).toEqual([names, 0]);
    expect(namesFrom(names, 99, 2)).toEqual([names.slice(0, 2), 2]);
    for (const maxBytes of [4_096, 1_048_576]) {
      const tunnels = Array.from({ length: mostNames(maxBytes) }, () => 'a'.repeat(64));
      expect(questionBytes(secret, { ...question, tunnels }).length).toBeLessThan(maxBytes);
    }
    expect(mostNames(1)).toBe(1);
  });
});
