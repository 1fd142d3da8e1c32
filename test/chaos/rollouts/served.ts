// Whether anybody serves at an address. Between two serving processes a connection waits in the socket that the
// pid-holder keeps; that it is answered, whatever the answer, means that the next one serves.

import { request } from 'undici';
import { until } from '../../support/until.ts';

const servedMs = 60_000;

export async function untilServed(url: string): Promise<void> {
  const { origin } = new URL(url);
  const isServed = async () => {
    const { body } = await request(`${origin}/healthz`, { reset: true });
    await body.dump();
    return true;
  };
  await until(() => isServed().catch(() => false), `an answer at ${origin}`, servedMs);
}
