// The audit log of real processes: killed under load, on a full disk, several at once, and what the command
// says about it.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hashOf, nextLine } from '../../src/audit/audit-line.ts';
import { storedKey } from '../../src/store/key-file.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, type Served } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { executions, readLedger } from '../support/ledger.ts';
import { fillUp, mountSmallDisk, unmountSmallDisk } from '../support/small-disk.ts';
import { until } from '../support/until.ts';

async function homeWith(audit: string, rest: object = {}) {
  const home = await GatewayHome.create();
  const ledger = home.file('ledger');
  await home.configure({ mcpServers: { bank: faultyStdio({ ledger }) }, audit, ...rest });
  return { home, ledger, folder: join(home.place.folder, 'audit') };
}

const add = (client: HttpClient, nonce: string) =>
  client.call('bank__add', { key: 'a', amount: 1, nonce });

const faultIn = (answer: { result: { _meta?: Record<string, object> } }) =>
  answer.result._meta?.['holdfast/fault'];

/** How many calls the server has received. */
const ranIn = (ledger: string) =>
  readLedger(ledger).filter(({ phase }) => phase === 'received').length;

async function verified(home: GatewayHome) {
  const { code, stdout } = await home.run(['audit', 'verify', '--json']);
  return {
    code,
    ...(JSON.parse(stdout) as { tracks: Record<string, number>[]; faults: object[] }),
  };
}

async function calls(home: GatewayHome, ...args: readonly string[]) {
  const { stdout } = await home.run(['audit', '--json', '-n', '100000', ...args]);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function kill(served: Served): Promise<void> {
  process.kill(served.pid, 'SIGKILL');
  await served.ended;
}

describe('the audit log of a gateway', () => {
  it('is whole after kills under load, and has every call that ran #audit', async () => {
    const { home, ledger } = await homeWith('required');
    await using _home = home;
    let sent = 0;
    for (let round = 1; round <= 3; round += 1) {
      const served = await home.serve();
      const before = ranIn(ledger);
      const clients = Array.from({ length: 8 }, () => new HttpClient(served.url));
      const load = clients.map(async (client) => {
        // Until the gateway is gone.
        for (;;) {
          sent += 1;
          await add(client, `n${sent}`);
        }
      });
      const ended = Promise.allSettled(load);
      await until(() => ranIn(ledger) > before + 30, 'the server has run calls');
      await kill(served);
      await ended;
      for (const client of clients) client[Symbol.dispose]();
      expect(await verified(home)).toMatchObject({ code: 0, faults: [] });
    }
    const served = await home.serve();
    using client = new HttpClient(served.url);
    await add(client, 'last');
    await served.stop();
    const { code, tracks } = await verified(home);
    expect(code).toBe(0);
    expect(tracks).toMatchObject([{ track: '1', starts: 4, isOpen: false }]);
    const begun = await calls(home, '--server', 'bank');
    expect(begun.length).toBeGreaterThanOrEqual(ranIn(ledger));
  });

  it('has 200 calls at once, each with its end #audit', async () => {
    const { home } = await homeWith('required');
    await using _home = home;
    const served = await home.serve();
    const clients = Array.from({ length: 20 }, () => new HttpClient(served.url));
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        add(clients[index % 20] as HttpClient, `n${index}`),
      ),
    );
    for (const client of clients) client[Symbol.dispose]();
    expect(answers.map(faultIn).filter((fault) => fault !== undefined)).toEqual([]);
    await served.stop();
    const entries = await calls(home);
    expect(entries).toHaveLength(200);
    expect(
      entries.every(({ outcome, dispatched }) => outcome === 'ok' && dispatched === 'yes'),
    ).toBe(true);
    expect(await verified(home)).toMatchObject({ code: 0, faults: [] });
  });

  it('on a full disk: with "required" nothing is sent, with "on" calls go on #audit', async (context) => {
    for (const mode of ['required', 'on']) {
      const { home, ledger } = await homeWith(mode, {
        store: 'memory',
        telemetry: { eventLog: false },
      });
      await using _home = home;
      mkdirSync(home.state, { mode: 0o700 });
      const refusal = mountSmallDisk(home.state);
      if (refusal !== undefined) return context.skip(refusal);
      try {
        const served = await home.serve();
        using client = new HttpClient(served.url);
        await add(client, 'before');
        await until(async () => (await calls(home)).length === 1, 'it is written down');
        fillUp(home.state);
        // The block of the last line has room for some more.
        let answer = await add(client, 'first');
        for (let index = 0; index < 40; index += 1) answer = await add(client, `n${index}`);
        if (mode === 'required') {
          expect(faultIn(answer)).toMatchObject({ code: 'unavailable', dispatched: 'no' });
          expect(executions(ledger, 'n39')).toBe(0);
        } else {
          expect(faultIn(answer)).toBeUndefined();
          expect(executions(ledger, 'n39')).toBe(1);
        }
        let more = 0;
        const isTold = async () => {
          // What other files gave back is room for a line or two, and then all is well again.
          fillUp(home.state);
          more += 1;
          await add(client, `more${more}`);
          return (await home.run(['status'])).stdout.includes('ENOSPC');
        };
        await until(isTold, 'status says so');
        await served.stop();
        expect(await verified(home)).toMatchObject({ code: 0, faults: [] });
      } finally {
        unmountSmallDisk(home.state);
      }
    }
  });

  it('has a track for each process that runs, and the next process continues the first #audit', async () => {
    const { home, folder } = await homeWith('on');
    await using _home = home;
    const nonces = ['a', 'b', 'c'];
    const call = (nonce: string) =>
      home.run(['call', 'bank/add', 'key=a', 'amount=1', `nonce=${nonce}`]);
    const ended = await Promise.all(nonces.map(call));
    expect(ended.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      nonces.map(() => ({ code: 0, stderr: '' })),
    );
    await call('d');
    expect(await calls(home)).toHaveLength(4);
    expect(readdirSync(folder).length).toBeLessThanOrEqual(3);
    const { code, tracks } = await verified(home);
    expect(code).toBe(0);
    expect(tracks.reduce((sum, { starts = 0 }) => sum + starts, 0)).toBe(4);
    const file = join(folder, '1', '000000000000001.jsonl');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });
});

describe('holdfast audit', () => {
  it('says what is wrong and where #audit', async () => {
    const { home, folder } = await homeWith('on');
    await using _home = home;
    expect((await home.run(['audit'])).stderr).toContain('is empty');
    const none = await home.run(['audit', 'verify']);
    expect(none.code).toBe(1);
    expect((await home.run(['audit', 'check'])).code).toBe(2);
    expect((await home.run(['audit', '-n', 'x'])).code).toBe(2);
    expect((await home.run(['audit', '-n', '0'])).code).toBe(2);
    await home.run(['call', 'bank/add', 'key=a', 'amount=1', 'nonce=n']);
    const { stdout } = await home.run(['audit']);
    expect(stdout).toMatch(/local {2}bank\/add {2}ok/);
    const file = join(folder, '1', '000000000000001.jsonl');
    const whole = readFileSync(file, 'utf8');
    writeFileSync(file, whole.replace('"name":"add"', '"name":"get"'));
    const changed = await home.run(['audit', 'verify']);
    expect(changed).toMatchObject({ code: 1, stdout: '' });
    expect(changed.stderr).toContain(`${file}:2: changed`);
    writeFileSync(file, whole);
    expect(await home.run(['audit', 'verify'])).toMatchObject({ code: 0, stderr: '' });
    writeFileSync(file, whole.replace('{"v":1,', '{"v":9,'));
    expect((await home.run(['audit', 'verify'])).stderr).toContain('newer version');
    writeFileSync(file, whole);
    renameSync(folder, `${folder}-away`);
    symlinkSync(`${folder}-away`, folder);
    const linked = await home.run(['audit', 'verify']);
    expect(linked.code).not.toBe(0);
    expect(linked.stderr).toContain('ELOOP');
    rmSync(folder);
    renameSync(`${folder}-away`, folder);
    // Lines are gone from the beginning, and the file has the name that would fit.
    const lines = whole.split('\n').slice(0, -1);
    expect(lines.length).toBeGreaterThan(2);
    renameSync(file, file.replace('1.jsonl', '3.jsonl'));
    writeFileSync(file.replace('1.jsonl', '3.jsonl'), `${lines.slice(2).join('\n')}\n`);
    expect(await home.run(['audit', 'verify'])).toMatchObject({ code: 1 });
    rmSync(file.replace('1.jsonl', '3.jsonl'));
    // A further file is there, and the first one is not.
    const n = lines.length;
    const place = { config: basename(dirname(folder)), track: '1', file: n + 1 };
    const more = { kind: 'more', at: 0, process: 'p', ...place } as const;
    const key = await storedKey(join(dirname(home.configFile), 'holdfast.key'));
    const { line } = nextLine({ n, hash: hashOf(`${lines.at(-1)}\n`) }, more, key);
    const next = join(folder, '1', `${String(n + 1).padStart(15, '0')}.jsonl`);
    writeFileSync(next, line);
    const rest = await home.run(['audit', 'verify']);
    expect(rest.code).toBe(3);
    expect(rest.stdout).toContain(`lines before ${n + 1} are not here`);
    expect(rest.stdout).not.toMatch(/^ok/);
    writeFileSync(file, whole);
    expect((await home.run(['audit', 'verify'])).code).toBe(0);
    rmSync(next);
    mkdirSync(join(folder, '1', '000000000000099.jsonl'));
    expect((await home.run(['audit', 'verify'])).stderr).toContain('EISDIR');
  });

  it('finds calls by the name or the id of a token, also of a revoked one, and tells an unknown name apart #audit', async () => {
    const roles = { r: { allow: ['bank/*'] } };
    const { home } = await homeWith('on', { roles, http: { auth: 'token' } });
    await using _home = home;
    const added = await home.run(['token', 'add', '--role', 'r', '--name', 'ci', '--json']);
    const { token, id } = JSON.parse(added.stdout);
    await using served = await home.serve();
    using client = new HttpClient(served.url, { Authorization: `Bearer ${token}` });
    expect(faultIn(await add(client, 'n'))).toBeUndefined();
    expect((await home.run(['audit', '--principal', 'local'])).stderr).toContain('no such call');
    await home.run(['token', 'revoke', 'ci']);
    for (const name of ['ci', 'token:ci', id, `token:${id}`]) {
      const [call] = await calls(home, '--principal', name);
      expect([name, call?.['principal'], call?.['token']]).toEqual([name, `token:${id}`, 'ci']);
    }
    expect((await home.run(['audit'])).stdout).toMatch(/ci \(r\) {2}bank\/add {2}ok/);
    const wrong = await home.run(['audit', '--principal', 'token:cj']);
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toContain("no token 'cj', and the audit log has none; did you mean 'ci'?");
    const server = await home.run(['audit', '--server', 'bnak']);
    expect(server.code).toBe(2);
    expect(server.stderr).toContain("did you mean 'bank'?");
  });

  it.each(['file', 'folder'])(
    'goes on in its place if its %s is moved away, and that is told #audit',
    async (what) => {
      const { home, folder } = await homeWith('required');
      await using _home = home;
      await using served = await home.serve();
      using client = new HttpClient(served.url);
      await add(client, 'a');
      const file = join(folder, '1', '000000000000001.jsonl');
      const aside = home.file('aside');
      renameSync(what === 'file' ? file : folder, aside);
      const old = what === 'file' ? aside : join(aside, '1', '000000000000001.jsonl');
      const { size } = statSync(old);
      await add(client, 'b');
      expect(statSync(old).size).toBe(size);
      const kinds = readFileSync(file, 'utf8').match(/"kind":"\w+"/g);
      expect(kinds?.slice(0, 2)).toEqual(['"kind":"more"', '"kind":"gap"']);
      expect(kinds).toContain('"kind":"begin"');
      const status = await home.run(['status', '--json']);
      expect(JSON.parse(status.stdout).audit).toMatchObject({ gaps: 1, problem: null });
      expect((await home.run(['status'])).stdout).toContain('moved away or removed once');
      const doctor = await home.run(['doctor', '--no-start']);
      expect(doctor.code).toBe(1);
      expect(doctor.stdout.replaceAll(/\s+/g, ' ')).toContain('moved away or removed once');
      expect((await home.run(['audit', 'verify'])).code).toBe(1);
    },
  );

  it('that is switched on while an instance runs says that it needs a new start #audit', async () => {
    const { home } = await homeWith('off');
    await using _home = home;
    await using _served = await home.serve();
    await home.configure({ mcpServers: {}, audit: 'on' });
    await until(async () => {
      const { stdout } = await home.run(['status', '--json']);
      return JSON.parse(stdout).needsStart.includes('audit');
    }, 'the change is noticed');
    expect((await home.run(['status'])).stdout).toContain('audit: changed in the config');
    const doctor = await home.run(['doctor', '--no-start', '--json']);
    const { checks } = JSON.parse(doctor.stdout);
    expect(checks).toContainEqual(
      expect.objectContaining({ kind: 'finding', text: expect.stringContaining('audit: changed') }),
    );
    expect((await home.run(['reload'])).stdout).toContain('audit: needs a new start');
    const { stderr } = await home.run(['audit']);
    expect(stderr).toContain('after the running instance was started');
    expect(stderr).toContain('holdfast shutdown');
  });

  it('of a config without one says how to have one', async () => {
    const { home } = await homeWith('off');
    await using _home = home;
    await home.run(['call', 'bank/add', 'key=a', 'amount=1', 'nonce=n']);
    const shown = await home.run(['audit']);
    expect(shown).toMatchObject({ code: 0, stdout: '' });
    expect(shown.stderr).toContain('"audit" in the config');
    expect((await home.run(['audit', 'verify'])).code).toBe(0);
    expect(existsSync(join(home.place.folder, 'audit'))).toBe(false);
  });

  it('refuses calls if something else is in the place of the log, and follows no link #audit', async () => {
    const { home, ledger, folder } = await homeWith('required');
    await using _home = home;
    mkdirSync(home.place.folder, { recursive: true, mode: 0o700 });
    writeFileSync(folder, 'something else');
    const call = () => home.run(['call', 'bank/add', 'key=a', 'amount=1', 'nonce=n']);
    const first = await call();
    expect(first.code).toBe(3);
    expect(first.stderr).toContain('the call was not sent');
    expect((await home.run(['audit', 'verify'])).stderr).toContain('ENOTDIR');
    expect(ranIn(ledger)).toBe(0);
    const linked = await homeWith('required');
    await using _linked = linked.home;
    mkdirSync(join(linked.folder, '1'), { recursive: true, mode: 0o700 });
    const target = linked.home.file('target');
    symlinkSync(target, join(linked.folder, '1', '000000000000001.jsonl'));
    const second = await linked.home.run(['call', 'bank/add', 'key=a', 'amount=1', 'nonce=n']);
    expect(second.code).toBe(3);
    expect(existsSync(target)).toBe(false);
  });
});
