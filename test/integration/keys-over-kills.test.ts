// Idempotency keys of the gateway's clients survive the gateway: after a kill, a key that was used is
// known, with its answer if there was one.

import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { instancePlace } from '../../src/instance/place.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, type Served } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { executions, phases } from '../support/ledger.ts';
import { until } from '../support/until.ts';

async function homeWithLedger(rest: object = {}) {
  const home = await GatewayHome.create();
  const ledger = home.file('ledger');
  await home.configure({ mcpServers: { bank: faultyStdio({ ledger }) }, ...rest });
  return { home, ledger };
}

async function call(url: string, nonce: string, more: object = {}) {
  using client = new HttpClient(url);
  return await client.call(
    'bank__add',
    { key: 'a', amount: 1, nonce, ...more },
    { 'holdfast/idempotencyKey': nonce },
  );
}

async function kill(served: Served): Promise<void> {
  process.kill(served.pid, 'SIGKILL');
  await served.ended;
}

const faultIn = (answer: { result: { _meta?: Record<string, { code: string }> } }) =>
  answer.result._meta?.['holdfast/fault'];

describe('an idempotency key', () => {
  it('that has its answer gives the same answer after a kill, and the effect happened once #idempotency-key #never-twice', async () => {
    const { home, ledger } = await homeWithLedger();
    await using _home = home;
    const first = await home.serve();
    const { result } = await call(first.url, 'one');
    await kill(first);
    const second = await home.serve();
    expect((await call(second.url, 'one')).result).toEqual(result);
    expect(await call(second.url, 'one', { amount: 2 })).toSatisfy(
      (answer) => faultIn(answer)?.code === 'conflict',
    );
    await second.stop();
    await using third = await home.serve();
    expect((await call(third.url, 'one')).result).toEqual(result);
    expect(executions(ledger, 'one')).toBe(1);
  });

  it('whose call was under way at the kill is unknown, and does not run again #idempotency-key #never-twice', async () => {
    const { home, ledger } = await homeWithLedger();
    await using _home = home;
    const first = await home.serve();
    const lost = call(first.url, 'two', { fault: { kind: 'hang', effect: true } }).catch(
      () => 'lost',
    );
    await until(() => phases(ledger, 'two').includes('done'), 'the effect has happened');
    await kill(first);
    expect(await lost).toBe('lost');
    await using second = await home.serve();
    const again = await call(second.url, 'two', { fault: { kind: 'hang', effect: true } });
    expect(faultIn(again)?.code).toBe('outcome_unknown');
    expect(executions(ledger, 'two')).toBe(1);
  });

  it('is known to the next gateway, also if that one is started while the first is still ending', async () => {
    const { home, ledger } = await homeWithLedger();
    await using _home = home;
    const first = await home.serve();
    const { result } = await call(first.url, 'ten');
    const ending = first.stop();
    let second: Served | undefined;
    await until(async () => {
      const tried = await home.serve();
      // Until then it prints why it cannot run.
      if (tried.url !== undefined) second = tried;
      return second !== undefined;
    }, 'the next one runs');
    await ending;
    if (second === undefined) throw new Error('it does not run');
    expect((await call(second.url, 'ten')).result).toEqual(result);
    expect(executions(ledger, 'ten')).toBe(1);
    expect((await second.stop()).stderr).toBe('');
  });

  it('is refused by a gateway that cannot open its database: it does not know which were used', async () => {
    const { home, ledger } = await homeWithLedger();
    await using _home = home;
    const first = await home.serve();
    await call(first.url, 'eleven');
    await kill(first);
    const { database } = home.place;
    renameSync(database, `${database}.away`);
    mkdirSync(database);
    await using second = await home.serve();
    for (const key of ['eleven', 'twelve']) {
      expect(faultIn(await call(second.url, key))?.code).toBe('overloaded');
    }
    expect(executions(ledger, 'eleven')).toBe(1);
    expect(executions(ledger, 'twelve')).toBe(0);
  });

  it('leaves its answer encrypted: nothing of it is in the state directory, the key file is beside the config', async () => {
    const { home } = await homeWithLedger();
    await using _home = home;
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    const secret = 'a-rather-confidential-text';
    const meta = { 'holdfast/idempotencyKey': 'three' };
    const { result } = await client.call('bank__echo', { text: secret }, meta);
    expect(JSON.stringify(result)).toContain(secret);
    const keyFile = home.file('holdfast.key');
    expect((statSync(keyFile).mode & 0o777).toString(8)).toBe('600');
    const { database } = instancePlace(home.state, home.configFile, {});
    for (const file of [database, `${database}-wal`]) {
      expect(readFileSync(file, 'latin1')).not.toContain(secret);
      expect(readFileSync(file, 'latin1')).not.toContain(readFileSync(keyFile, 'latin1').trim());
    }
  });

  it('whose answer cannot be decrypted any more is still known as used #idempotency-key #never-twice', async () => {
    const { home, ledger } = await homeWithLedger();
    await using _home = home;
    const first = await home.serve();
    await call(first.url, 'four');
    await kill(first);
    writeFileSync(home.file('holdfast.key'), `${'0'.repeat(64)}\n`);
    await using second = await home.serve();
    expect(faultIn(await call(second.url, 'four'))?.code).toBe('outcome_unknown');
    expect(executions(ledger, 'four')).toBe(1);
  });

  it('without a place for the key file works as long as the gateway runs, and the gateway says so', async () => {
    const { home, ledger } = await homeWithLedger({ keyFile: '/nowhere/holdfast.key' });
    await using _home = home;
    const first = await home.serve();
    const { result } = await call(first.url, 'five');
    expect((await call(first.url, 'five')).result).toEqual(result);
    process.kill(first.pid, 'SIGKILL');
    expect((await first.ended).stderr).toMatch(/key file \/nowhere.*kept in memory.*keyFile/);
    await using second = await home.serve();
    expect(faultIn(await call(second.url, 'five'))?.code).toBe('outcome_unknown');
    expect(executions(ledger, 'five')).toBe(1);
  });

  it('with "store": "memory" is forgotten with the gateway, and no database is made', async () => {
    const { home } = await homeWithLedger({ store: 'memory' });
    await using _home = home;
    const served = await home.serve();
    await call(served.url, 'six');
    await kill(served);
    const { database, folder } = instancePlace(home.state, home.configFile, {});
    expect(existsSync(database)).toBe(false);
    expect(readdirSync(folder)).toContain('control.sock');
    expect(existsSync(join(home.folder, 'holdfast.key'))).toBe(false);
  });

  it('is refused while the disk takes nothing, before anything runs; calls without a key go on #idempotency-key #disk-faults', async () => {
    const { home, ledger } = await homeWithLedger();
    await using _home = home;
    const mount = home.file('small');
    execFileSync('mkdir', [mount]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=700', 'none', mount]);
    try {
      Object.assign(home, { state: mount });
      await using served = await home.serve();
      expect(faultIn(await call(served.url, 'seven'))).toBeUndefined();
      execFileSync('sh', ['-c', `head -c 4m /dev/zero > ${mount}/full 2>/dev/null || true`]);
      expect(faultIn(await call(served.url, 'eight'))?.code).toBe('overloaded');
      expect(executions(ledger, 'eight')).toBe(0);
      using client = new HttpClient(served.url);
      const plain = await client.call('bank__add', { key: 'a', amount: 1, nonce: 'plain' });
      expect(faultIn(plain)).toBeUndefined();
      const status = JSON.parse((await home.run(['status', '--json'])).stdout);
      expect(status.disk).toMatchObject({
        ok: false,
        problem: expect.stringContaining('free space'),
      });
      execFileSync('rm', [`${mount}/full`]);
      expect(faultIn(await call(served.url, 'eight'))).toBeUndefined();
    } finally {
      execFileSync('umount', ['-l', mount]);
    }
  });
});
