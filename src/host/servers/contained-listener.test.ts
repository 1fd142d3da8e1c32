import { describe, expect, it } from 'vitest';
import type { Connection, ConnectionListener } from '../../upstream/connection.ts';
import { scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';
import { containedListener } from './contained-listener.ts';

/** What is counted, reported and answered when handling a message throws this. */
function handling(thrown: Error) {
  const seen = { noise: [] as string[], reported: [] as string[], answers: [] as unknown[] };
  const fail = () => {
    throw thrown;
  };
  const listener: ConnectionListener = {
    lost: fail,
    ended: fail,
    lastWords: fail,
    notification: fail,
    asked: fail,
    missed: fail,
    noise: (noise) => void seen.noise.push(noise),
  };
  const contained = containedListener(listener, (handled) => void seen.reported.push(handled));
  const respond = (answer: string | Buffer) => void seen.answers.push(JSON.parse(String(answer)));
  const from = { respond } as unknown as Connection;
  return { seen, contained, from };
}

const asked = scanMessage(Buffer.from('{"jsonrpc":"2.0","id":7,"method":"roots/list"}'));
const said = scanMessage(Buffer.from('{"jsonrpc":"2.0","method":"notifications/x"}'));

describe('a message of a server that cannot be handled', () => {
  it('is noise, and refused, if a part of it cannot be read in only one way #one-bad-neighbour', () => {
    const { seen, contained, from } = handling(new WireError('duplicate-key', 3));
    contained.notification(said, undefined, from);
    contained.asked(asked, undefined, from);
    expect(seen).toMatchObject({
      noise: ['invalid-message', 'invalid-message'],
      reported: [],
      answers: [{ id: 7, error: { code: -32602 } }],
    });
  });

  it('is reported as a defect of ours in every other case #one-bad-neighbour', () => {
    const { seen, contained, from } = handling(new TypeError('a defect'));
    contained.notification(said, undefined, from);
    contained.asked(asked, undefined, from);
    expect(seen).toMatchObject({
      noise: [],
      reported: ['a message of the server', 'a question of the server'],
      answers: [{ id: 7, error: { code: -32603 } }],
    });
  });
});
