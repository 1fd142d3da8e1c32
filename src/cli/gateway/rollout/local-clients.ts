// The control socket in a rollout: the windows of `connect` go to the next process with their connections and sessions,
// what commands have begun is answered here, and everything else is asked there.

import { socketOf } from '../../../downstream/http/rollout/handed-socket.ts';
import type { ClientLink } from '../../../downstream/stdio/handed-stdio.ts';
import type { HandedWindow, SocketClients } from '../../../downstream/stdio/socket-clients.ts';
import type { OwnInstance } from '../../../instance/instance.ts';
import { isRecord } from '../../../kernel/json-values.ts';
import type { RawHandle } from '../../../rollout/holder/raw-handle.ts';
import type { JsonValue, Link } from '../../../rollout/link.ts';
import type { Succession } from './succession.ts';

const what = 'windows';

/** To be disposed of when nobody can come any more. */
export function windowsOverRollouts(
  instance: OwnInstance,
  clients: SocketClients,
  succession: Succession,
): Disposable {
  restoreWindows(instance, clients, succession);
  const { sockets } = succession;
  return succession.add({
    give: async (link) => {
      const answered = instance.handOver();
      const { windows, ended, lost } = await clients.handOver({
        socket: (handle, id) => sockets.pass(handle as RawHandle, { what, id }),
        link: (id) => linkOf(link, id),
      });
      const data = windows.map(({ id, state, unread }) => [id, state, unread.length]);
      const part = {
        name: what,
        data: JSON.parse(JSON.stringify(data)) as JsonValue,
        bytes: Buffer.concat(windows.map(({ unread }) => unread)),
      };
      const left = lost === 0 ? [] : [`${lost} windows, which connect again`];
      const all = Promise.all([answered, ended]);
      return { parts: [part], sessions: windows.length, ended: all, left };
    },
  });
}

function restoreWindows(
  instance: OwnInstance,
  clients: SocketClients,
  succession: Succession,
): void {
  const { arrival } = succession;
  if (arrival === undefined) return;
  /** By id, until their connections are here. */
  const windows = new Map(windowsIn(succession.part(what)));
  succession.sockets.take(what, (handle, { id }) => {
    const window = windows.get(String(id));
    windows.delete(String(id));
    if (window === undefined) return handle.close();
    const socket = socketOf(handle);
    instance.adopt(socket);
    const isRead = clients.restore(window, socket, linkOf(arrival.link, window.id));
    if (!isRead) socket.destroy();
  });
}

function* windowsIn(
  part: { readonly data: unknown; readonly bytes: Buffer } | undefined,
): Generator<readonly [string, HandedWindow]> {
  let at = 0;
  for (const one of Array.isArray(part?.data) ? part.data : []) {
    const [id, state, length] = Array.isArray(one) ? one : [];
    if (typeof id !== 'string' || !isRecord(state) || typeof length !== 'number') continue;
    const unread = Buffer.from(part?.bytes.subarray(at, at + length) ?? []);
    at += length;
    yield [id, { id, state, unread }];
  }
}

/** What is said of one window. */
function linkOf(link: Link, id: string): ClientLink {
  const kind = `window.${id}`;
  return {
    send: (_kind, head, payload) => link.send(kind, head, payload),
    on: (_kind, heard) => link.on(kind, heard),
    closed: link.closed,
  };
}
