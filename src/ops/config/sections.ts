import { z } from 'zod';

/** A TCP port; 0 takes a free one. */
const port = (fallback: number, what: string) =>
  z.number().int().min(0).max(65_535).default(fallback).describe(what);

export const hostSetting = z
  .string()
  .min(1)
  .default('0.0.0.0')
  .describe('Address that every listener binds to.')
  // Shells and containers set HOST for themselves, and to the native server it is the node's name.
  .meta({ environment: 'POLYMQ_HOST' });

export const storeSettings = z.object({
  path: z.string().min(1).default('./data').describe('Directory of the store. One process at a time.'),
  engine: z
    .enum(['disk', 'memory', 'nats'])
    .default('disk')
    .describe(
      '`disk` keeps everything in `STORE_PATH`; `nats` in JetStream (`NATS_URL`), for several nodes of which one serves; ' +
        '`memory` keeps nothing after the process ends.',
    ),
  sync: z
    .enum(['always', 'interval'])
    .default('always')
    .describe(
      '`always`: a send is confirmed when the disk has it. `interval`: confirmed at once, synced every ' +
        '`STORE_SYNC_INTERVAL_MS`; a power cut may lose that much.',
    ),
  syncIntervalMs: z
    .number()
    .int()
    .min(1)
    .max(60_000)
    .default(100)
    .describe('Time between syncs when `STORE_SYNC` is `interval`.'),
  minFreeBytes: z
    .number()
    .int()
    .min(0)
    .default(256 * 1024 * 1024)
    .describe(
      'Below this much free disk, sends are refused with a retryable answer; consuming goes on. 0 = never.',
    ),
  memoryMaxBytes: z
    .number()
    .int()
    .min(0)
    .default(1024 * 1024 * 1024)
    .describe(
      'Likewise when what stays in memory is more: transient messages, tables, channels, ids of dedup windows, the registry. 0 = no bound.',
    ),
});

export const apiSettings = z.object({
  port: port(8080, 'Port of health, metrics and the admin API.'),
});

export const logSettings = z.object({
  level: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Least important lines that are written.'),
  format: z
    .enum(['auto', 'json', 'pretty'])
    .default('auto')
    .describe('`pretty` is for people, `json` for machines; `auto` is pretty on a terminal.'),
});

export const shutdownSettings = z.object({
  graceMs: z
    .number()
    .int()
    .min(0)
    .max(600_000)
    .default(10_000)
    .describe('How long running calls may take to end after SIGTERM or SIGINT.'),
});

export const aliasesSetting = z
  .array(z.strictObject({ alias: z.string().min(1), channel: z.string().min(1) }))
  .readonly()
  .default([])
  .describe(
    'Names that are other channels, set at every start. As text: `alias=channel,alias=channel`. ' +
      'They are kept in the store; taking one out of here does not remove it (`polymq alias remove` does).',
  );

export type StoreConfig = z.output<typeof storeSettings>;
export type LogConfig = z.output<typeof logSettings>;
export type AliasConfig = z.output<typeof aliasesSetting>[number];
