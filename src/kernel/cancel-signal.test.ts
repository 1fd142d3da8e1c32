import { describe, expect, it } from 'vitest';
import { CancelSignal } from './cancel-signal.ts';

describe('a cancel signal', () => {
  it('tells everyone who listens, once, in the order they came', () => {
    const cancelSignal = new CancelSignal();
    const heard: string[] = [];
    cancelSignal.addEventListener('abort', () => heard.push('first'));
    cancelSignal.addEventListener('abort', () => heard.push('second'));
    cancelSignal.abort('gone');
    cancelSignal.abort('again');
    expect(heard).toEqual(['first', 'second']);
    expect(cancelSignal).toMatchObject({ aborted: true, reason: 'gone' });
  });

  it('notifies every listener although one throws, and throws that error afterwards', () => {
    const cancelSignal = new CancelSignal();
    const heard: string[] = [];
    cancelSignal.addEventListener('abort', () => {
      throw new Error('a defect');
    });
    cancelSignal.addEventListener('abort', () => heard.push('second'));
    expect(() => cancelSignal.abort()).toThrow('a defect');
    expect(heard).toEqual(['second']);
  });

  it('does not tell those who have left', () => {
    const cancelSignal = new CancelSignal();
    const heard: string[] = [];
    const first = () => heard.push('first');
    const second = () => heard.push('second');
    const third = () => heard.push('third');
    for (const listener of [first, second, third]) cancelSignal.addEventListener('abort', listener);
    cancelSignal.removeEventListener('abort', first);
    cancelSignal.removeEventListener('abort', third);
    cancelSignal.abort();
    expect(heard).toEqual(['second']);
  });
});
