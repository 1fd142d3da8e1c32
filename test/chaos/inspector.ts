// Looks into the heap of a running node through its inspector: the program on trial needs no word for
// it. Nothing stays connected between two looks.

import { once } from 'node:events';
import { WebSocket } from 'undici';

export interface HeapLook {
  /** In use after two forced collections. */
  readonly usedBytes: number;
  /** Of buffers, which lie outside of the heap. */
  readonly bufferBytes: number;
}

export async function lookIntoHeap(address: string): Promise<HeapLook> {
  return await connected(address, async (ask) => {
    await ask('HeapProfiler.enable');
    await ask('HeapProfiler.collectGarbage');
    await ask('HeapProfiler.collectGarbage');
    const { usedSize } = (await ask('Runtime.getHeapUsage')) as { usedSize: number };
    const expression = 'process.memoryUsage().arrayBuffers';
    const { result } = (await ask('Runtime.evaluate', { expression })) as {
      result: { value: number };
    };
    await ask('HeapProfiler.disable');
    return { usedBytes: usedSize, bufferBytes: result.value };
  });
}

/** The text of a heap snapshot, for finding out what has grown. */
export async function heapSnapshot(address: string): Promise<string> {
  return await connected(address, async (ask, pieces) => {
    await ask('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
    return pieces.join('');
  });
}

type Ask = (method: string, params?: object) => Promise<unknown>;

interface Heard {
  readonly id?: number;
  readonly result?: unknown;
  readonly params?: { readonly chunk?: string };
}

async function connected<T>(
  address: string,
  look: (ask: Ask, pieces: readonly string[]) => Promise<T>,
): Promise<T> {
  const socket = new WebSocket(address);
  await once(socket, 'open');
  const waiting = new Map<number, (result: unknown) => void>();
  const pieces: string[] = [];
  socket.addEventListener('message', ({ data }) => {
    const { id, result, params } = JSON.parse(String(data)) as Heard;
    if (id !== undefined) waiting.get(id)?.(result);
    else if (params?.chunk !== undefined) pieces.push(params.chunk);
  });
  let lastId = 0;
  const ask: Ask = (method, params = {}) => {
    lastId += 1;
    const id = lastId;
    socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve) => waiting.set(id, resolve));
  };
  try {
    return await look(ask, pieces);
  } finally {
    const closed = once(socket, 'close');
    socket.close();
    await closed;
  }
}
