// The link of an instance to its broker in plain words, for `status` and `doctor`.

import { printableLine } from '../../kernel/printable.ts';
import type { BrokerState } from '../../observe/broker-state.ts';
import { agoText, countText, durationText } from './quantity.ts';

/** `now` is wall time. */
export function brokerText(broker: BrokerState, now: number): string {
  const { url, as, state, since, lastError, workers } = broker;
  const forMs = durationText(Math.max(1, now - since));
  const cause = printableLine(lastError?.text ?? 'nothing is known yet');
  switch (state) {
    case 'connected': {
      const before =
        lastError === null
          ? ''
          : `; the link before ended ${agoText(now - lastError.at)}: ${cause}`;
      const served = `${countText(workers, 'worker')} ${workers === 1 ? 'is' : 'are'} served`;
      return `Connected to the broker ${url} as ${as} for ${forMs}; ${served}${before}.`;
    }
    case 'connecting':
      return `Connecting to the broker ${url} as ${as}, for ${forMs}.`;
    case 'lost':
      return `No link to the broker ${url} for ${forMs}, it is tried again: ${cause}. Workers are not served.`;
    case 'refused':
      return `The broker ${url} refuses this gateway for ${forMs}, it is tried every half minute: ${cause}. Workers are not served.`;
    case 'closed':
      return `The link to the broker ${url} is closed: the instance ends.`;
  }
}

export function isTrouble({ state }: BrokerState): boolean {
  return state === 'lost' || state === 'refused';
}

/** What to do about it: a broker that refuses has said what is wrong, and is there. */
export function brokerRemedy(isRefused: boolean): string {
  const first = isRefused ? 'mend what is said there' : 'start the broker';
  return `${first}, or correct "broker" in the config and its credential; then run: holdfast doctor`;
}
