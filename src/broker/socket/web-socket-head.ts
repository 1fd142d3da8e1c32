// The first bytes of a WebSocket message in one piece (RFC 6455, 5.2): binary, whole, and from a client with a mask of
// zeros, which changes nothing. Masks are there so that nobody can choose the bytes that a proxy on the way sees, which
// may take them for something else; so they are left out only where there is none: on this machine, or inside of TLS.

export type MessageSide = 'client' | 'server';

const wholeBinary = 0x82;
const maskBit = 0x80;
const maskBytes = 4;
/** A length up to this is in the second byte; up to the next in two more; otherwise in eight more. */
const shortMost = 125;
const mediumMost = 0xffff;
const mediumMark = 126;
const longMark = 127;

/** How many bytes come before a message of this length, and what writes them. */
export interface Head {
  readonly bytes: number;
  write(into: Buffer): void;
}

export function webSocketHead(length: number, side: MessageSide): Head {
  const isClient = side === 'client';
  const plain = length <= shortMost ? 2 : length <= mediumMost ? 4 : 10;
  const bytes = plain + (isClient ? maskBytes : 0);
  return {
    bytes,
    write: (into) => {
      const bit = isClient ? maskBit : 0;
      into[0] = wholeBinary;
      into[1] = bit | (plain === 2 ? length : plain === 4 ? mediumMark : longMark);
      if (plain === 4) into.writeUInt16BE(length, 2);
      if (plain === 10) into.writeBigUInt64BE(BigInt(length), 2);
      if (isClient) into.fill(0, plain, bytes);
    },
  };
}

/** Whether nobody else can see or change what a client sends to this address: TLS, or this machine. */
export function isUnseen(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'wss:' || /^(127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}
