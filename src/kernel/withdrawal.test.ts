import { describe, expect, it } from 'vitest';
import { Withdrawal } from './withdrawal.ts';

describe('a withdrawal', () => {
  it('tells everyone who listens, once, in the order they came', () => {
    const withdrawal = new Withdrawal();
    const heard: string[] = [];
    withdrawal.addEventListener('abort', () => heard.push('first'));
    withdrawal.addEventListener('abort', () => heard.push('second'));
    withdrawal.abort('gone');
    withdrawal.abort('again');
    expect(heard).toEqual(['first', 'second']);
    expect(withdrawal).toMatchObject({ aborted: true, reason: 'gone' });
  });

  it('tells everyone although one throws, and throws that when all know', () => {
    const withdrawal = new Withdrawal();
    const heard: string[] = [];
    withdrawal.addEventListener('abort', () => {
      throw new Error('a defect');
    });
    withdrawal.addEventListener('abort', () => heard.push('second'));
    expect(() => withdrawal.abort()).toThrow('a defect');
    expect(heard).toEqual(['second']);
  });

  it('does not tell those who have left', () => {
    const withdrawal = new Withdrawal();
    const heard: string[] = [];
    const first = () => heard.push('first');
    const second = () => heard.push('second');
    const third = () => heard.push('third');
    for (const listener of [first, second, third]) withdrawal.addEventListener('abort', listener);
    withdrawal.removeEventListener('abort', first);
    withdrawal.removeEventListener('abort', third);
    withdrawal.abort();
    expect(heard).toEqual(['second']);
  });
});
