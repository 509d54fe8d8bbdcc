/** Room for the messages of one queue within the second it was made; more of them only borrow from later seconds. */
const SEQUENCES_PER_SECOND = 10n ** 10n;
const DIGITS = 20;

/**
 * A FIFO message's SequenceNumber: 20 digits, strictly rising in its queue whatever the clock does, and above those of an
 * earlier queue of the same name. Sender and receiver compute the same from facts both see: when the queue was made
 * (Unix seconds) and the message's sequence in it.
 */
export function sequenceNumber(queueCreatedAt: number, sequence: number): string {
  return String(BigInt(queueCreatedAt) * SEQUENCES_PER_SECOND + BigInt(sequence)).padStart(DIGITS, '0');
}
