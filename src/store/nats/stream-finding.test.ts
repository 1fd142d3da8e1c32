import { describe, expect, it } from 'vitest';
import { ApiError, apiCodes, type Members } from '../../nats/jet-stream-api.ts';
import { ensuredStream } from './stream-finding.ts';
import { newIncarnation, type StreamSpec, streamConfig } from './stream-names.ts';

const spec: StreamSpec = {
  ...{ namespace: 'n', word: 'r', name: 'things' },
  ...{ maxMessages: -1, isForgetful: false },
};
const notFound = new ApiError(apiCodes.streamNotFound, 'stream not found');
const overlapping = new ApiError(apiCodes.overlapping, 'subjects overlap with an existing stream');

/** A server that refuses to make it; afterwards it says what `then` is of it. */
function refusing(then: () => Members) {
  let isAsked = false;
  return {
    call: async (subject: string): Promise<Members> => {
      if (subject.startsWith('STREAM.CREATE.')) {
        isAsked = true;
        throw overlapping;
      }
      if (!isAsked) throw notFound;
      return then();
    },
  };
}

describe('a stream that another process makes at the same time', () => {
  it('is used, whichever of its two refusals the server gives', async () => {
    const config = streamConfig(spec, newIncarnation());
    const found = await ensuredStream(
      refusing(() => ({ config, state: { last_seq: 7 } })),
      spec,
    );
    expect(found.last).toBe(7);
  });

  it('is refused as the server says if its subjects are those of another stream', async () => {
    const api = refusing(() => {
      throw notFound;
    });
    await expect(ensuredStream(api, spec)).rejects.toBe(overlapping);
  });
});
