import { describe, expect, it } from 'vitest';
import { Fault, type FaultFacts, faultTable } from '../../kernel/fault.ts';
import { faultLines } from './fault-line.ts';
import { styleFor } from './style.ts';

const plain = styleFor(false, {});

const lineOf = (code: keyof typeof faultTable, detail: string, facts: FaultFacts = {}) =>
  faultLines(new Fault(code, detail, facts).record, plain).join('\n');

describe('a fault for a person', () => {
  it('is one line with the cause, the code, the last stderr line and the next step', () => {
    const facts = { server: 'git', tool: 'log', stderr: 'no repository\nhere' };
    expect(lineOf('unavailable', 'git exited with code 1', facts)).toBe(
      'holdfast: git exited with code 1 [unavailable] · stderr: no repository here · next: holdfast doctor, or run its command by hand',
    );
  });

  it('names the server where the cause does not', () => {
    const cause = "the command '/usr/bin' is a directory";
    expect(lineOf('unavailable', cause, { server: 'dir' })).toContain(`holdfast: dir: ${cause}`);
    expect(lineOf('rpc_error', 'nope', { server: 'git', tool: 'log' })).toContain(
      'holdfast: git/log: nope',
    );
  });

  it('does not add a command where the cause ends in one', () => {
    const line = lineOf('not_found', 'no such tool; run: holdfast tools git', { server: 'git' });
    expect(line).toBe('holdfast: no such tool; run: holdfast tools git');
  });

  it('leads to the servers where a server does not exist, and to the tools where a tool does not', () => {
    expect(lineOf('not_found', 'no server a', { server: 'a' })).toMatch(/next: holdfast status$/);
    expect(lineOf('not_found', 'a has no b', { server: 'a', tool: 'b' })).toMatch(
      /next: holdfast tools$/,
    );
  });

  it('is one line for each mistake in a config', () => {
    expect(lineOf('invalid_request', 'a.json:1:2: x\na.json:3:4: y')).toBe(
      'holdfast: a.json:1:2: x\nholdfast: a.json:3:4: y',
    );
  });

  it('shows the output of a server with control characters escaped', () => {
    const line = lineOf('rpc_error', '\u001b[2Jgone', { server: 's', stderr: '\u0007' });
    expect(line).toContain('\\x1b[2Jgone');
    expect(line).toContain('\\x07');
  });

  it('has a next step for every code', () => {
    for (const code of Object.keys(faultTable) as (keyof typeof faultTable)[]) {
      expect(lineOf(code, 'cause', { server: 's', tool: 't' })).toMatch(/^holdfast: s\/t: cause/);
    }
  });
});
