// How much a pipe to a child takes before a write waits, measured: what Node calls a pipe is a pair of
// sockets, and how much that holds is the kernel's affair.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pauseMs } from './client.ts';

/** The kernel counts what a piece costs it, so that large pieces leave room for more bytes. */
const pieceSizes = [4096, 16_384, 65_536, 212_992];
/** A write that is not done by then waits for a reader. */
const stillMs = 200;

/** The most that goes into the pipe of a child that never reads. */
export async function pipeBytes(): Promise<number> {
  return Math.max(...(await Promise.all(pieceSizes.map(takenIn))));
}

/** Bytes taken whole, and the piece on which it stopped. */
async function takenIn(pieceBytes: number): Promise<number> {
  const child = spawn('/bin/sleep', ['60'], { stdio: ['pipe', 'ignore', 'ignore'] });
  const exited = once(child, 'exit');
  child.stdin.on('error', () => {}); // it is killed with a full pipe
  let taken = 0;
  const fill = () => {
    child.stdin.write(Buffer.alloc(pieceBytes), (error) => {
      if (error) return;
      taken += pieceBytes;
      fill();
    });
  };
  fill();
  for (let before = -1; before !== taken; ) {
    before = taken;
    await pauseMs(stillMs);
  }
  child.kill('SIGKILL');
  await exited;
  return taken + pieceBytes;
}
