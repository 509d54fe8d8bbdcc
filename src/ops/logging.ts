import { pino, type DestinationStream, type Logger } from 'pino';
import type { Log, LogFields } from '../base/log.js';
import type { LogConfig } from './config/sections.js';
import { humanLine } from './human-line.js';

/** Field names whose values never reach a log line, at the top of a line or one level down. */
const SECRET_FIELDS = [
  'password',
  'secret',
  'token',
  'authorization',
  'credentials',
  'secretKey',
  'privateKey',
];

export interface LogTarget {
  /** Where lines go, each with its line end. */
  readonly write: (line: string) => void;
  /** A person is watching. */
  readonly terminal: boolean;
  readonly colours?: boolean;
}

/** The product's log: JSON lines, or lines for people when `format` or the terminal says so. */
export function createLog(config: LogConfig, target: LogTarget): Log {
  const pretty = config.format === 'pretty' || (config.format === 'auto' && target.terminal);
  const colours = target.colours ?? target.terminal;
  const destination: DestinationStream = {
    write: (line) => target.write(pretty ? humanLine(line, colours) : line),
  };
  const logger = pino(
    {
      level: config.level,
      base: null,
      messageKey: 'message',
      errorKey: 'error',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      redact: { paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]), censor: '********' },
      serializers: { error: pino.stdSerializers.err },
    },
    destination,
  );
  return new PinoLog(logger);
}

class PinoLog implements Log {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  debug(message: string, fields: LogFields = {}): void {
    this.#logger.debug(fields, message);
  }

  info(message: string, fields: LogFields = {}): void {
    this.#logger.info(fields, message);
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#logger.warn(fields, message);
  }

  error(message: string, fields: LogFields = {}): void {
    this.#logger.error(fields, message);
  }

  child(fields: LogFields): Log {
    return new PinoLog(this.#logger.child(fields));
  }
}

/** Standard output, written synchronously: the last line before an exit is never lost. */
export function standardOutput(): LogTarget {
  const stream = pino.destination({ dest: 1, sync: true });
  // Whoever read us is gone; there is nobody to tell.
  stream.on('error', () => undefined);
  return { write: (line) => void stream.write(line), terminal: process.stdout.isTTY };
}
