import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import type { HostStatus } from '../host/status.ts';
import { Traffic } from '../observe/traffic.ts';
import {
  callHostTool,
  type HostToolSources,
  hostToolDefinition,
  hostToolNames,
} from './host-tools.ts';

const clock = new ManualClock();

const status: HostStatus = {
  version: '0.3.0',
  instance: 'i1',
  startedBy: 'serve',
  config: null,
  uptimeMs: 1_000,
  rollout: 'stable',
  rollouts: { cause: null, at: null, count: 0, generation: 1, launchPathStable: true },
  disk: { ok: true },
  audit: { mode: 'off', problem: null, lost: 0, refused: 0, gaps: 0 },
  servers: [],
  cache: { hits: 0, misses: 0, entries: 0, bytes: 0 },
  calls: { total: 0, ok: 0, isError: 0, faults: 0, replays: 0 },
  budgets: [],
  internalErrors: 0,
};

function sources(more: Partial<HostToolSources> = {}): HostToolSources {
  return {
    status: () => status,
    disclosed: (record) => record,
    traffic: new Traffic(clock),
    mayKnow: () => true,
    workerRestarts: 0,
    isAccepting: true,
    generation: 1,
    hostRollouts: 0,
    clock,
    ...more,
  };
}

interface Result {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

function answer(name: (typeof hostToolNames)[number], args: unknown, from = sources()): Result {
  const outcome = callHostTool(name, args, from);
  if (outcome.kind !== 'result') throw new Error(outcome.message);
  return JSON.parse(outcome.result) as Result;
}

function complaint(args: unknown): string {
  const outcome = callHostTool('health_snapshot', args, sources());
  return outcome.kind === 'invalid' ? outcome.message : 'it was accepted';
}

describe('the definitions', () => {
  test.each(hostToolNames)('of %s offer a presentation and claim nothing dangerous', (name) => {
    expect(JSON.parse(hostToolDefinition(name))).toMatchObject({
      name,
      title: expect.any(String),
      description: expect.any(String),
      inputSchema: {
        type: 'object',
        properties: {
          render: { enum: ['porcelain', 'json'], default: 'porcelain' },
          detail: { enum: ['concise', 'full'], default: 'concise' },
        },
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    });
  });

  test('carry the name they are listed by', () => {
    const text = hostToolDefinition('health_snapshot', 'holdfast__health_snapshot');
    expect(JSON.parse(text).name).toBe('holdfast__health_snapshot');
  });
});

describe('health_snapshot', () => {
  test.each([undefined, {}, { render: 'porcelain', detail: 'concise' }])(
    'is one line of text unless asked otherwise (%j)',
    (args) => {
      expect(answer('health_snapshot', args)).toEqual({
        content: [{ type: 'text', text: 'ready gen=1 servers ready=0' }],
      });
    },
  );

  test('is structured content, and the same as text, when JSON is asked for', () => {
    const { content, structuredContent } = answer('health_snapshot', { render: 'json' });
    expect(Object.keys(structuredContent ?? {})).toEqual([
      'ready',
      'generation',
      'servers',
      'rollout',
      'lastFault',
    ]);
    expect(JSON.parse(content[0]?.text ?? '')).toEqual(structuredContent);
  });

  test('has the whole status when it is full', () => {
    const args = { render: 'json', detail: 'full' };
    expect(answer('health_snapshot', args).structuredContent?.['status']).toEqual(status);
    expect(answer('health_snapshot', { detail: 'full' }).content[0]?.text).toContain(' disk=ok\n');
  });
});

describe('telemetry_snapshot', () => {
  test('is lines of text unless asked otherwise', () => {
    expect(answer('telemetry_snapshot', {}).content[0]?.text).toBe(
      'requests=0 success=0 response_error=0 transport_fault=0 retry=0 cancelled=0 in_flight=0\n' +
        'worker_restarts=0 recent_failures=0 host_rollouts=0',
    );
  });

  test('counts the rollouts of the instance', () => {
    const args = { render: 'json' };
    const rolled = answer('telemetry_snapshot', args, sources({ generation: 4, hostRollouts: 2 }));
    expect(rolled.structuredContent).toMatchObject({ hostRollouts: 2, hotMethods: [] });
  });

  test('has every method when it is full', () => {
    const traffic = new Traffic(clock);
    for (let index = 0; index < 9; index++) traffic.ended(`m${index}`, 'ok', 1);
    const ask = (args: object) => answer('telemetry_snapshot', args, sources({ traffic }));
    expect(ask({ render: 'json' }).structuredContent?.['hotMethods']).toHaveLength(6);
    expect(ask({ render: 'json', detail: 'full' }).structuredContent?.['methods']).toHaveLength(9);
    expect(ask({ detail: 'full' }).content[0]?.text).toContain('\nmethods:\nm0 req=1');
  });
});

describe('arguments that are not right', () => {
  test.each([
    [
      { render: 'xml' },
      'health_snapshot: the argument "render" is "xml"; allowed are "porcelain" and "json"',
    ],
    [
      { detail: null },
      'health_snapshot: the argument "detail" is null; allowed are "concise" and "full"',
    ],
    [
      { render: ['json'] },
      'health_snapshot: the argument "render" is a list; allowed are "porcelain" and "json"',
    ],
    [
      { rendr: 'json' },
      'health_snapshot: there is no argument "rendr"; did you mean "render"? it takes "render", "detail"',
    ],
    [
      { server: 'a' },
      'health_snapshot: there is no argument "server"; it takes "render", "detail"',
    ],
    ['full', 'health_snapshot: the arguments must be an object, not "full"'],
    [null, 'health_snapshot: the arguments must be an object, not null'],
    [[], 'health_snapshot: the arguments must be an object, not a list'],
  ])('%j are refused with what is allowed', (args, message) => {
    expect(complaint(args)).toBe(message);
  });

  test('are not quoted at length, nor able to move the cursor', () => {
    expect(complaint({ render: `\u202e${'x'.repeat(100_000)}` }).length).toBeLessThan(200);
    expect(complaint({ render: '\u202e\n' })).toContain('"\\u202e\\n"');
  });

  test('never make it throw', () => {
    fc.assert(
      fc.property(fc.constantFrom(...hostToolNames), fc.jsonValue(), (name, args) => {
        expect(['result', 'invalid']).toContain(callHostTool(name, args, sources()).kind);
      }),
    );
  });
});

test.each(hostToolNames)('%s answers even if the state cannot be read', (name) => {
  const broken = sources({
    status: () => {
      throw new RangeError('broken');
    },
  });
  expect(answer(name, {}, broken)).toEqual({
    content: [{ type: 'text', text: 'the state could not be read: broken' }],
    isError: true,
  });
});
