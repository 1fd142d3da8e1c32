// The child of a connection on its way to the next serving process, and the streams that go with
// it: what was read of stdout and not handled, what is known about the line and the noise there, and
// the last lines of stderr.

import { ignored } from '../../kernel/contain.ts';
import type { Fault } from '../../kernel/fault.ts';
import type { Child, HandedChild } from '../../supervise/child.ts';
import type { Conversation } from '../conversation.ts';
import type { FormerMessages } from '../former-messages.ts';
import type {
  ConnectionState,
  HandedConnection,
  RestOfCalls,
  StdioState,
} from '../handed-connection.ts';
import { RestOfConnection } from '../rest-of-connection.ts';
import type { Outbox } from './outbox.ts';
import type { StderrRing } from './stderr-ring.ts';
import type { StdoutMessages } from './stdout-messages.ts';
import type { StdoutReader } from './stdout-reader.ts';

export interface Streams {
  readonly stdout: StdoutReader;
  readonly messages: StdoutMessages;
  readonly stderr: StderrRing;
}

/**
 * Takes the child from its connection, between two writes and two lines. Undefined: it stays there,
 * and everything goes on.
 */
export async function childFrom(
  child: Child | undefined,
  outbox: Outbox,
  stdout: StdoutReader,
  isMovable: () => boolean,
): Promise<HandedChild | undefined> {
  if (!child?.handOver || !isMovable()) return undefined;
  if ((await outbox.stop()) && isMovable()) {
    stdout.stop();
    // Where that fails the child says itself what became of it.
    const handed = await child.handOver().catch(ignored);
    if (handed) return handed;
    stdout.goOn();
  }
  outbox.goOn();
  return undefined;
}

/** After this nothing of the streams is left at the connection. */
export function handedFrom(
  { stdout, messages, stderr }: Streams,
  shared: Pick<ConnectionState, 'generation' | 'greeting' | 'nextId'>,
  child: HandedChild,
): HandedConnection {
  const { state: reading, unread } = stdout.handOver();
  const { lines, unfinished } = stderr.handOver();
  const head = messages.oversizedHead?.toString('base64');
  const state: StdioState = {
    transport: 'stdio',
    ...shared,
    stdout: head === undefined ? reading : { ...reading, oversizedHead: head },
    stderr: lines,
  };
  const whole = { ...child, stderr: Buffer.concat([unfinished, child.stderr]) };
  return { state, child: whole, unread };
}

/** They go on where the former's have ended, once stdout is read on. */
export function restoreStreams(
  { stdout, messages, stderr }: Streams,
  state: StdioState,
  unread: Buffer,
): void {
  const { oversizedHead } = state.stdout;
  stderr.restore(state.stderr);
  if (oversizedHead !== undefined) messages.restore(Buffer.from(oversizedHead, 'base64'));
  stdout.restore(state.stdout, unread);
}

/** What the former keeps: its lines come and go over the link. */
export function restOfStdio(
  conversation: Conversation,
  former: () => FormerMessages | undefined,
  messages: StdoutMessages,
  outbox: Outbox,
  lost: (fault: Fault) => void,
): RestOfCalls {
  return new RestOfConnection(conversation, former, {
    attach: (lines) => outbox.redirect((line) => lines.write(line)),
    heard: (line) => messages.passedOn(line),
    lost,
  });
}
