import { describe, expect, it } from 'vitest';
import {
  comparedVariables,
  differingNames,
  sentEnvironment,
  shownNames,
} from './environment-match.ts';

const config = `{"env": {"A": "\${env:TOKEN}"}, "inheritEnv": ["MY_*", "LANG"]}`;

describe('the environment of a window', () => {
  it('is compared in what the config names and what changes what servers do', () => {
    const env = { PATH: '/bin', TERM: 'x', LANG: 'C', TOKEN: 't', MY_A: '1', OTHER: 'o' };
    expect([...comparedVariables(env, config).keys()]).toEqual(['LANG', 'MY_A', 'PATH', 'TOKEN']);
  });

  it('differs where a value is another one, or is on one side only', () => {
    const here = comparedVariables({ TOKEN: 'a', MY_A: '1', PATH: '/bin' }, config);
    const there = comparedVariables({ TOKEN: 'b', MY_B: '1', PATH: '/bin' }, config);
    expect(differingNames(sentEnvironment(here), there)).toEqual(['MY_A', 'MY_B', 'TOKEN']);
    expect(differingNames(sentEnvironment(here), here)).toEqual([]);
  });

  it('is sent without its values, and as something else each time', () => {
    const here = comparedVariables({ TOKEN: 'hunter2hunter2' }, config);
    const [one, other] = [sentEnvironment(here), sentEnvironment(here)];
    expect(JSON.stringify(one)).not.toContain('hunter2');
    expect(one.variables[0]?.hash).not.toBe(other.variables[0]?.hash);
  });

  it('compares the same variables on both sides if there are too many', () => {
    const many = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`MY_${at}`, 'x']));
    const here = comparedVariables(many, config);
    expect(here.size).toBe(300);
    expect(differingNames(sentEnvironment(here), comparedVariables(many, config))).toEqual([]);
  });

  it('is shown with few names, none of them long #status', () => {
    const names = Array.from({ length: 600 }, (_, at) => `${'X'.repeat(96)}_${at}`);
    const shown = shownNames(names);
    expect([shown.length, shown.at(-1)]).toEqual([21, 'and 580 more']);
    expect(Math.max(...shown.map(({ length }) => length))).toBe(60);
    expect(shownNames(['MY_A', 'TOKEN'])).toEqual(['MY_A', 'TOKEN']);
  });
});
