// What the server says about a letter in the subject that it is acknowledged by:
// $JS.ACK.[DOMAIN.ACCOUNT.]STREAM.CONSUMER.DELIVERED.SEQUENCE.CONSUMER_SEQUENCE.TIME.PENDING[.MORE]

/** When the letter was kept, in milliseconds of the server's clock. */
export function keptAt(ack: string): number {
  return Number(memberOf(ack, 7)) / 1_000_000;
}

/** The place of the letter in its stream: the same each time that it is handed out. */
export function sequenceOf(ack: string): string {
  return memberOf(ack, 5);
}

/** Newer servers name domain and account before the stream. */
function memberOf(ack: string, place: number): string {
  const parts = ack.split('.');
  return parts[parts.length > 9 ? place + 2 : place] ?? '';
}
