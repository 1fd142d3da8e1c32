// The client of `serve --stdio` in a rollout: it keeps its pipes, which the next process has from the pid-holder as well,
// and its session; what was read of its input and not handled goes along.

import { type RestoredStdio, stdioStateIn } from '../../../downstream/stdio/handed-stdio.ts';
import type { StdioFront } from '../../../downstream/stdio/stdio-front.ts';
import { Fault } from '../../../kernel/fault.ts';
import type { JsonValue } from '../../../rollout/link.ts';
import type { Succession } from './succession.ts';

const what = 'stdio';

/** Undefined: no process was before, or its client was gone. Throws a Fault. */
export function restoredClient(succession: Succession): RestoredStdio | undefined {
  const part = succession.part(what);
  if (part === undefined) return undefined;
  const state = stdioStateIn(part.data);
  if (state === undefined) {
    throw new Fault('internal', 'the process before has not handed over its client');
  }
  return { state, unread: part.bytes, link: succession.arrival?.link };
}

/** To be disposed of when the client is gone. */
export function clientOverRollouts(front: StdioFront, succession: Succession): Disposable {
  return succession.add({
    give: async (link) => {
      const over = await front.handOver();
      if (over === undefined) return { ended: Promise.resolve() };
      const { handed, rest } = over;
      rest.attach(link);
      const data = JSON.parse(JSON.stringify(handed.state)) as JsonValue;
      const part = { name: what, data, bytes: handed.unread };
      return { parts: [part], sessions: 1, ended: rest.done };
    },
  });
}
