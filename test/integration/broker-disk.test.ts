// The command `holdfast broker` on a disk that is full or read-only: a real one, which only root can mount.

import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { BrokerProcess } from '../support/broker-process.ts';
import { ReadMail } from '../support/broker-suite/read-mail.ts';
import { fillUp, mount, mountSmallDisk, unmountSmallDisk } from '../support/small-disk.ts';
import { until } from '../support/until.ts';

const letter = (id: string) => ({ id, to: 'boss', kind: 'note', body: Buffer.alloc(20_000, 'x') });

type Skip = (why: string) => void;

const withSmallDisk =
  (work: (broker: BrokerProcess) => Promise<void>) =>
  async ({ skip }: { skip: Skip }) => {
    let refusal: string | undefined;
    await using broker = await BrokerProcess.prepared((dir) => {
      refusal = mountSmallDisk(dir);
    });
    if (refusal !== undefined) return skip(`a small disk was not tried: ${refusal}`);
    try {
      await work(broker);
    } finally {
      unmountSmallDisk(broker.dir);
    }
  };

describe('a broker whose disk', () => {
  it(
    'is full refuses what it cannot keep, loses nothing that it has confirmed, and goes on when there is room #broker-durable',
    withSmallDisk(async (broker) => {
      await broker.launch();
      const ann = await broker.link('ann');
      await ann.deliver(letter('before'));
      const filler = fillUp(broker.dir);
      let refused: unknown;
      const confirmed = ['before'];
      for (let at = 0; refused === undefined && at < 100; at += 1) {
        const id = `full-${at}`;
        await ann.deliver(letter(id)).then(
          () => confirmed.push(id),
          (error: unknown) => {
            refused = error;
          },
        );
      }
      expect(refused).toMatchObject({ reason: expect.stringMatching(/^(full|not_kept)$/) });
      rmSync(filler);
      await until(
        () =>
          ann.deliver(letter('after')).then(
            () => true,
            () => false,
          ),
        'there is room again',
      );
      confirmed.push('after');
      await broker.restart();
      const mail = await ReadMail.of(await broker.link('boss'), 'note');
      await until(() => mail.all.some(({ id }) => id === 'after'), 'the last one has come');
      const came = mail.all.map(({ id }) => id);
      expect(confirmed.filter((id) => !came.includes(id))).toEqual([]);
    }),
  );

  it(
    'is full at the start is not replaced by memory #broker-durable',
    withSmallDisk(async (broker) => {
      fillUp(broker.dir);
      const { code, stdout, stderr } = await broker.run(['--dir', broker.dir]);
      expect([code, stdout]).toEqual([3, '']);
      expect(stderr).toContain('--dir DIR');
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    }),
  );

  it(
    'is read-only is not used',
    withSmallDisk(async (broker) => {
      expect(mount(['-o', 'remount,ro', broker.dir])).toBeUndefined();
      const { code, stdout, stderr } = await broker.run(['--dir', broker.dir]);
      expect([code, stdout]).toEqual([3, '']);
      expect(stderr).toContain('EROFS');
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    }),
  );
});
