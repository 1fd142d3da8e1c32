// What the printed config of a NATS server lets a member do, where that is decided by its credential: which one it sends as,
// which one it may be written to by, and in whose account its mail is. What a real server does with it is shown by
// test/integration/nats-hostile-worker.test.ts.

import { describe, expect, it } from 'vitest';
import { members } from '../../../test/support/broker-suite/subject.ts';
import { natsConfig } from './nats-config.ts';

function configWith(id: string): readonly string[] {
  const fleet = [members.boss, { ...members.ann, id }];
  const listed = fleet.map((identity) => ({ identity, credential: { password: 'x' } }));
  return natsConfig(listed, { storeDir: '/tmp' }).split('\n');
}

const [before, after] = ['0000000000000001', '0000000000000002'] as const;

describe('the config of a NATS server', () => {
  it('lets a worker send with its own credential in the subject, and no other #broker-identity', () => {
    const [, anns] = configWith(before).filter((line) => line.includes('publish:'));
    const subjects = anns?.match(/hf\.(?:mail|tell)\.[^"]*/g);
    expect(subjects).toEqual([
      `hf.mail.boss.~now.*.~any.ann~mcp.reader.${before}.*`,
      `hf.tell.boss.~now.*.*.ann~mcp.reader.${before}.*`,
    ]);
  });

  it('lets an orchestrator write to the present credential of a worker, and to no earlier one #revoked', () => {
    const [bosses] = configWith(after).filter((line) => line.includes('publish:'));
    expect(bosses?.match(/hf\.(?:mail|tell)\.[^"]*/g)).toEqual(
      ['mail', 'tell'].flatMap((way) =>
        ['~now', after].map((one) => `hf.${way}.ann~mcp.${one}.*.*.boss.~none.~none.*`),
      ),
    );
  });

  it('has nobody whose credential expires: it is said how to exchange it, for the directory that was named #command-line', () => {
    const expiring = { ...members.ann, expiresAt: 1, to: ['boss', 'chief'] };
    const listed = [{ identity: expiring, credential: { password: 'x' } }];
    const words =
      'holdfast token revoke ann --dir d, and holdfast token add --worker ann --role reader --to boss chief --dir d';
    expect(() => natsConfig(listed, { storeDir: '/tmp', where: ' --dir d' })).toThrow(words);
  });

  it('gives the next credential of a worker an account of its own, and an orchestrator the same #broker-identity', () => {
    const accounts = (id: string) =>
      configWith(id).flatMap((line) => /^ {2}"([^"]*)" \{$/.exec(line)?.[1] ?? []);
    expect(accounts(before)).toEqual(['boss', `ann~mcp@${before}`]);
    expect(accounts(after)).toEqual(['boss', `ann~mcp@${after}`]);
    expect(configWith(after).some((line) => line.includes(before))).toBe(false);
  });
});
