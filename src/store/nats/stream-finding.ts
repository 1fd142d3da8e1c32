// Finds a stream of the store on the NATS server, by its name or by the name that such streams had before, or makes it.
// A stream of the older name may be that of another namespace: then it is left alone. Of several that are ours, the one
// is taken that is known to have held what is kept.

import {
  apiCodes,
  isCode,
  type JetStreamApi,
  type Members,
  membersOf,
} from '../../nats/jet-stream-api.ts';
import { NatsError } from '../../nats/nats-error.ts';
import {
  incarnationIn,
  newIncarnation,
  olderStreamName,
  perSubject,
  type StreamSpec,
  streamConfig,
  streamName,
} from './stream-names.ts';

interface FoundStream {
  readonly name: string;
  readonly incarnation: string;
  /** The highest number in it. */
  readonly last: number;
  /** Whether the server removes messages by itself when their time is over. */
  readonly hasTtl: boolean;
}

type Api = Pick<JetStreamApi<NatsError>, 'call'>;

/** `kept`: of the stream that has held what is kept, if it is known. Rejects with an ApiError or a NatsError. */
export async function ensuredStream(
  api: Api,
  spec: StreamSpec,
  kept?: string,
): Promise<FoundStream> {
  const found = await findStream(api, spec, kept);
  if (found !== undefined) return found;
  const name = streamName(spec);
  const made = await api
    .call(`STREAM.CREATE.${name}`, streamConfig(spec, newIncarnation()))
    .catch((error: unknown) => {
      // Another process has made it in this moment, or is about to have.
      const isMade = isCode(error, apiCodes.otherConfig) || isCode(error, apiCodes.overlapping);
      if (!isMade) throw error;
      return api.call(`STREAM.INFO.${name}`).catch((): never => {
        throw error;
      });
    });
  return asOurs(spec, name, made);
}

/** Undefined if there is none. Rejects with an ApiError or a NatsError. */
export async function findStream(
  api: Api,
  spec: StreamSpec,
  kept?: string,
): Promise<FoundStream | undefined> {
  const name = streamName(spec);
  const there = await infoOf(api, name);
  const newer = there && asOurs(spec, name, there);
  if (newer !== undefined && (kept ?? newer.incarnation) === newer.incarnation) return newer;
  const before = olderStreamName(spec);
  const other = await infoOf(api, before);
  const isTheirs = other === undefined || incarnationOf(spec, other) === undefined;
  const older = isTheirs ? undefined : asOurs(spec, before, other);
  return newer === undefined || older?.incarnation === kept ? (older ?? newer) : newer;
}

/** Undefined if there is no such stream. */
async function infoOf(api: Api, name: string): Promise<Members | undefined> {
  try {
    return await api.call(`STREAM.INFO.${name}`);
  } catch (error) {
    if (isCode(error, apiCodes.streamNotFound)) return undefined;
    throw error;
  }
}

function incarnationOf(spec: StreamSpec, info: Members): string | undefined {
  return incarnationIn(spec, membersOf(info['config'])['subjects']);
}

/** Throws a NatsError if it cannot be used. */
function asOurs(spec: StreamSpec, name: string, info: Members): FoundStream {
  const config = membersOf(info['config']);
  const incarnation = incarnationOf(spec, info);
  if (incarnation === undefined) {
    const subjects = JSON.stringify(config['subjects'] ?? []).slice(0, mostWords);
    const told = `the stream ${name} on the NATS server is for the subjects ${subjects}, which are not those of this store: use another namespace in the address`;
    throw new NatsError('unsupported', told);
  }
  const isAsMade =
    config['retention'] === 'limits' && config['max_msgs_per_subject'] === perSubject(spec);
  if (!isAsMade) {
    const told = `the stream ${name} on the NATS server has other settings than it was made with: set "retention" to "limits" and "max_msgs_per_subject" to ${perSubject(spec)} there, or use another namespace in the address`;
    throw new NatsError('unsupported', told);
  }
  const last = Number(membersOf(info['state'])['last_seq']);
  return { name, incarnation, last, hasTtl: config['allow_msg_ttl'] === true };
}

/** Of what the server says of it, for people. */
const mostWords = 200;
