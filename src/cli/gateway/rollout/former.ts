// The end of a serving process that another one has replaced: what it still has is closed, nothing that belongs to the
// next one is touched, and what it has said to the next one has left it.

import { exitCodes } from '../../exit-codes.ts';
import type { Served } from '../served.ts';

export async function leaveToNext({ instance, host, succession }: Served): Promise<number> {
  await instance?.leave();
  await host.close();
  await succession?.lastWords();
  return exitCodes.ok;
}
