/** All channels are one partition for now. */
export const PARTITION = 0;
/** Whose claim makes its holder the owner. */
export const CLAIM = `partition-${PARTITION}`;
