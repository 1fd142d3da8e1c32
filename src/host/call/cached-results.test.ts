import { describe, expect, it } from 'vitest';
import { newHost } from '../../../test/support/fake-gateway.ts';
import {
  type Script,
  type ScriptedChild,
  text,
  tool,
} from '../../../test/support/scripted-server.ts';
import { localUser } from '../../policy/principal.ts';
import type { Caller } from '../connections/caller.ts';
import { resultBytes } from './answer.ts';
import { toolCall } from './operation.ts';

const canSample = (child: ScriptedChild) => child.last('initialize').text.includes('sampling');
const look = (readOnlyHint: boolean) => tool('look', { annotations: { readOnlyHint } });

/** A trusted server, and callers of it who have nothing in common but who they are. */
function newWorld(script: Script, config: object) {
  const world = newHost({ s: script }, { config: { s: { trusted: true, ...config } } });
  const call = async (capabilities: object, isAskedInCalls = false) => {
    const key = JSON.stringify([capabilities, isAskedInCalls]);
    const client = { key, isAskedInCalls, hasRoots: () => false };
    const told = { principal: localUser, client, logLevel: undefined };
    const caller = { ...told, capabilities: JSON.stringify(capabilities) } as unknown as Caller;
    const operation = toolCall('look', '{}');
    const carrying = world.host.carry({ principal: localUser, server: 's', operation, caller });
    return resultBytes(await carrying).toString();
  };
  const calls = () => world.servers.s.heard('tools/call').length;
  return { ...world, call, calls };
}

const sampling = { sampling: {} };
const minute = { tools: { look: { cacheMs: 60_000 } } };

describe('a kept result', () => {
  it('is for clients of the class that it was said to, under way and afterwards #classes', async () => {
    const script: Script = {
      on: {
        'tools/list': (_heard, child) => ({
          tools: canSample(child) ? [look(true), tool('ask')] : [look(true)],
        }),
        'tools/call': (_heard, child) => text(canSample(child) ? 'for models' : 'plain'),
      },
    };
    const { call, calls } = newWorld(script, minute);
    const both = await Promise.all([call(sampling), call({})]);
    expect(both).toEqual([text('for models'), text('plain')].map((one) => JSON.stringify(one)));
    expect(await Promise.all([call(sampling), call({})])).toEqual(both);
    expect(calls()).toBe(2);
  });

  it('is not asked for by a caller that has cancelled before #true-dispatched', async () => {
    const script: Script = { tools: [look(true)], on: { 'tools/call': () => text('plain') } };
    const { host, calls } = newWorld(script, minute);
    const operation = toolCall('look', '{}');
    const signal = AbortSignal.abort();
    const carrying = host.carry({ principal: localUser, server: 's', operation, signal });
    await expect(carrying).rejects.toMatchObject({ code: 'cancelled', dispatched: 'no' });
    expect(calls()).toBe(0);
  });

  it('is for everybody where the server treats classes alike', async () => {
    const script: Script = { tools: [look(true)], on: { 'tools/call': () => text('plain') } };
    const { host, call, calls } = newWorld(script, minute);
    await Promise.all([call(sampling), call({})]);
    expect(host.find('s').facts.now.classes).toBe('alike');
    await call(sampling);
    const before = calls();
    await Promise.all([call(sampling), call({}), call({ elicitation: {} })]);
    expect(calls()).toBe(before);
  });

  it('is for modern clients that can be asked for the same', async () => {
    const script: Script = {
      era: 'modern',
      tools: [look(true)],
      on: {
        'tools/call': ({ text: said }) =>
          text(said.includes('"sampling"') ? 'for models' : 'plain'),
      },
    };
    const { call, calls } = newWorld(script, minute);
    const both = await Promise.all([call(sampling, true), call({}, true)]);
    expect(both[0]).toContain('for models');
    expect(both[1]).toContain('plain');
    expect([await call(sampling, true), await call({}, true), calls()]).toEqual([...both, 2]);
  });

  it('is none where the tool only reads as other clients are offered it #classes', async () => {
    const script: Script = {
      on: {
        'tools/list': (_heard, child) => ({ tools: [look(!canSample(child))] }),
        'tools/call': () => ({ ...text('once'), ttlMs: 60_000 }),
      },
    };
    const { call, calls } = newWorld(script, {});
    await call(sampling);
    await call({});
    await call({});
    const before = calls();
    await call(sampling);
    await call(sampling);
    expect(calls()).toBe(before + 2);
  });
});
