import { describe, expect, it } from 'vitest';
import { shortageOf } from './shortage.ts';

const failed = (code: string) => Object.assign(new Error('failed'), { code });

describe('a shortage of our own', () => {
  it.each(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM', 'ENOBUFS'])('is %s, in words', (code) => {
    expect(shortageOf(failed(code))).toMatch(new RegExp(`^this .* \\(${code}\\)$`));
  });

  it.each(['ENOENT', 'ECONNREFUSED', 'EACCES', 'constructor'])('is not %s', (code) => {
    expect(shortageOf(failed(code))).toBeUndefined();
  });

  it('is recognised only by the code, never by the message', () => {
    expect(shortageOf(new Error('EMFILE: too many open files'))).toBeUndefined();
    expect(shortageOf('EMFILE')).toBeUndefined();
  });
});
