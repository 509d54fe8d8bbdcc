export { createMemoryJournal, MemoryJournal } from './memory-journal.js';
export type { MemoryFaults, MemoryJournalOptions } from './memory-journal.js';
export type { MemoryEntry, MemoryImage } from './entry-table.js';
