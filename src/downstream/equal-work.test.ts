// A name that is hidden costs what a name costs that does not exist: time would tell of it. Time is measured by
// `npm run strangers`; here the decisions of roles are counted, and what is looked through for secrets when the
// refusal is written down: these are what differed where time did.

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { auditTrail } from '../../test/support/audit-log.ts';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { tool } from '../../test/support/scripted-server.ts';
import { KnownTexts } from '../kernel/known-texts.ts';
import type { Principal } from '../policy/principal.ts';
import { Role } from '../policy/roles/role.ts';

const reader: Principal = { id: 'token:reader', role: 'reader' };

const script = {
  tools: [tool('read'), tool('write')],
  prompts: [{ name: 'read' }, { name: 'write' }],
  resources: [
    { uri: 'x://read', name: 'r' },
    { uri: 'x://write', name: 'w' },
  ],
};
const scripts = {
  open: script,
  hidden: { ...script, resources: [{ uri: 'y://read', name: 'r' }] },
};
const roles = {
  reader: { allow: ['open/read', 'prompt:open/read', 'resource:open/x://read'] },
  hider: { allow: ['hidden/*'] },
};

/** Values that must not be shown. */
const config = {
  open: { env: { TOKEN: 'S3cret-of-open' } },
  hidden: { env: { TOKEN: 'S3cret-of-hidden' } },
};

async function world() {
  const { trail, clock: trailClock } = auditTrail();
  const audit = { mode: 'on', trail } as const;
  const made = newGateway(scripts, { settings: { roles }, config, audit });
  const whole = made.legacy();
  for (const list of ['tools', 'prompts', 'resources']) whole.request(`${list}/list`);
  await settled();
  const peer = made.legacy({}, reader);
  for (const list of ['tools', 'prompts', 'resources']) peer.request(`${list}/list`);
  await settled();
  const decisions = vi.spyOn(Role.prototype, 'denial');
  onTestFinished(() => decisions.mockRestore());
  /** How many decisions it takes, up to the answer and directly after it. */
  const cost = async (ask: () => unknown) => {
    decisions.mockClear();
    await ask();
    return decisions.mock.calls.length;
  };
  const asked = (method: string, params: object) =>
    cost(async () => {
      const reply = peer.request(method, params);
      await settled();
      expect(reply.answered.error?.message).toMatch(/unknown/i);
    });
  return { ...made, peer, trailClock, cost, asked };
}

const named = (name: string) => ({ name });
const addressed = (uri: string) => ({ uri });
const argument = { name: 'a', value: '' };
const ofPrompt = (name: string) => ({ ref: { type: 'ref/prompt', name }, argument });
const ofResource = (uri: string) => ({ ref: { type: 'ref/resource', uri }, argument });

describe('a hidden name', () => {
  it.each([
    ['tools/call', named, 'hidden__read', 'absent__read'],
    ['tools/call', named, 'open__write', 'open__wrote'],
    ['prompts/get', named, 'hidden__read', 'absent__read'],
    ['prompts/get', named, 'open__write', 'open__wrote'],
    ['resources/read', addressed, 'y://read', 'z://read'],
    ['resources/read', addressed, 'x://write', 'x://wrote'],
    ['resources/subscribe', addressed, 'y://read', 'z://read'],
    ['completion/complete', ofPrompt, 'hidden__read', 'absent__read'],
    ['completion/complete', ofResource, 'y://read', 'z://read'],
  ])(
    'takes no more decisions than one that does not exist: %s, %o %s #same-work',
    async (method, params, hidden, missing) => {
      const { asked } = await world();
      expect(await asked(method, params(hidden))).toBe(await asked(method, params(missing)));
    },
  );

  it.each([
    ['tools/call', named, 'hidden__read', 'absent__read'],
    ['tools/call', named, 'open__write', 'open__wrote'],
    ['prompts/get', named, 'hidden__read', 'absent__read'],
    ['resources/read', addressed, 'y://read', 'z://read'],
  ])(
    'is looked through for the same secrets as one that does not exist: %s, %o %s #same-work',
    async (method, params, hidden, missing) => {
      const { peer, trailClock } = await world();
      const search = vi.spyOn(KnownTexts.prototype, 'search');
      onTestFinished(() => search.mockRestore());
      const written = async (name: string) => {
        search.mockClear();
        peer.request(method, params(name));
        await settled();
        expect(search).not.toHaveBeenCalled();
        await trailClock.advanceAsync(20);
        return search.mock.contexts;
      };
      const [ofHidden, ofMissing] = [await written(hidden), await written(missing)];
      // The name and the reason, each once, however many servers there are.
      expect(ofHidden).toHaveLength(2);
      expect(ofMissing).toEqual(ofHidden);
      expect(new Set([...ofHidden, ...ofMissing]).size).toBe(1);
    },
  );

  it.each([
    ['server', 'hidden', 'absent'],
    ['role', 'hider', 'nobody'],
  ] as const)('is one of the path of a %s, too #same-work', async (kind, hidden, missing) => {
    const { gateway, cost } = await world();
    const narrowed = (name: string) =>
      cost(() => expect(gateway.narrowed(reader, { kind, name })).toBeUndefined());
    expect(await narrowed(hidden)).toBe(await narrowed(missing));
  });
});
