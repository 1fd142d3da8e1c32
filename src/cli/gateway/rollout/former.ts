// The end of a serving process that another one has replaced: what it still has is closed, and nothing that belongs to the
// next one is touched.

import { exitCodes } from '../../exit-codes.ts';
import type { Served } from '../served.ts';

export async function leaveToNext({ instance, host }: Served): Promise<number> {
  await instance?.leave();
  await host.close();
  return exitCodes.ok;
}
