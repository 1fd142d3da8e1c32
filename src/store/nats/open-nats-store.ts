// Opens the store at an address such as nats://USER:PASSWORD@HOST:PORT/NAMESPACE. It connects in the background; the
// client of NATS is loaded then.

import { natsPlaceIn } from '../../nats/nats-address.ts';
import type { Store } from '../store.ts';
import { NatsStore, type NatsStoreOptions } from './nats-store.ts';

/** Throws a TypeError if it is no address: configs are checked before. */
export function openNatsStore(address: string, options: NatsStoreOptions): Store {
  const place = natsPlaceIn(address);
  if (place === undefined) throw new TypeError('this is no address of a NATS server');
  return new NatsStore(place, options);
}
