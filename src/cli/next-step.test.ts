import { describe, expect, it } from 'vitest';
import { nextSteps } from './next-step.ts';

describe('the next steps in a message', () => {
  it('are as they were if no config was named', () => {
    expect(nextSteps(undefined)('see: holdfast status')).toBe('see: holdfast status');
  });

  it('repeat the config, wherever a command is in the message', () => {
    const steps = nextSteps('my.json');
    expect(steps('see it with: holdfast status, end it with: holdfast shutdown')).toBe(
      'see it with: holdfast status --config my.json, end it with: holdfast shutdown --config my.json',
    );
    expect(steps('to go over to it: holdfast rollout; see')).toBe(
      'to go over to it: holdfast rollout --config my.json; see',
    );
    expect(steps('next: holdfast tools a/b --fresh')).toBe(
      'next: holdfast tools --config my.json a/b --fresh',
    );
  });

  it('have it behind the command below another, and not between the two', () => {
    const steps = nextSteps('my.json');
    expect(steps('holdfast token add --orchestrator NAME; then holdfast broker nats-config')).toBe(
      'holdfast token add --config my.json --orchestrator NAME; then holdfast broker nats-config --config my.json',
    );
    expect(steps('start holdfast broker, see holdfast token')).toBe(
      'start holdfast broker --config my.json, see holdfast token --config my.json',
    );
  });

  it('are typed as a shell reads them', () => {
    expect(nextSteps("it's mine.json")('holdfast doctor')).toBe(
      "holdfast doctor --config 'it'\\''s mine.json'",
    );
  });

  it('leave alone what is about no config, or names it', () => {
    const text =
      'holdfast trust x.json, holdfast serve --help, holdfast: status, holdfast reload --config a.json';
    expect(nextSteps('my.json')(text)).toBe(text);
  });
});
