/** Structured fields of a log line: plain values, units last in the name. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The port every layer logs through; `ops` gives the implementation. Never called per message. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log whose lines carry `fields` too. */
  child(fields: LogFields): Log;
}

/** A log that says nothing: for tests and tools. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};
