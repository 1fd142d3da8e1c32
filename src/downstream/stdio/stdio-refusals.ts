// What a client on stdio is told of a message that is not taken.

import { rpcCodes } from '../../wire/eras.ts';
import { type ErrorToSend, idText } from '../../wire/frames.ts';
import type { Message } from '../../wire/scan.ts';
import type { WireError } from '../../wire/wire-error.ts';

export function wireRefusal({ rpcCode, message }: WireError): ErrorToSend {
  return { code: rpcCode, message };
}

export const emptyBatch: ErrorToSend = {
  code: rpcCodes.invalidRequest,
  message: 'Invalid request: a batch holds one message at least',
};

export function tooLarge(frameBytes: number): ErrorToSend {
  return {
    code: rpcCodes.invalidRequest,
    message: `Invalid request: a message may have at most ${frameBytes} bytes`,
  };
}

export function idInUse(message: Message): ErrorToSend {
  const words = `Invalid request: ${idText(message)} is the id of a request that is still under way`;
  return { code: rpcCodes.invalidRequest, message: words };
}
