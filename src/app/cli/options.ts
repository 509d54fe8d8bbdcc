import { Option, type Command } from 'commander';
import { ConfigError, type Loaded } from '../../ops/config/load.js';
import { textOfDefault, type Setting } from '../../ops/config/setting.js';
import { readConfig } from '../read-config.js';
import { SETTINGS, type Config } from '../settings.js';
import { CommandFailure, EXIT, type Terminal } from './output.js';

/** Gives a command `--config`, `--all` and one flag for every setting. */
export function addSettings(command: Command): Command {
  command.option('--config <file>', 'YAML file of settings (environment: POLYMQ_CONFIG)');
  command.option('--all', 'turn every connector on, except those switched off by name');
  for (const setting of SETTINGS) command.addOption(optionOf(setting));
  return command;
}

function optionOf(setting: Setting): Option {
  const value = setting.kind === 'boolean' ? '[true|false]' : `<${valueOf(setting)}>`;
  const fallback = textOfDefault(setting);
  const shown = fallback === '' ? '' : ` (default ${fallback})`;
  const option = new Option(
    `${setting.flag} ${value}`,
    `${setting.description}${shown} [${setting.environment}]`,
  );
  // A flag that stands alone means yes.
  if (setting.kind === 'boolean') option.preset('true');
  option.helpGroup(`${setting.path.length === 1 ? 'general' : setting.path.slice(0, -1).join('.')}:`);
  return option;
}

function valueOf({ kind, choices }: Setting): string {
  if (kind === 'choice') return choices.join('|');
  return kind === 'declarations' ? 'json' : kind;
}

/** The configuration a command was given. Rejects with CommandFailure with one line per fault. */
export async function configOf(command: Command, terminal: Terminal): Promise<Loaded<Config>> {
  const given = command.opts<Record<string, unknown>>();
  const flags = new Map<string, unknown>();
  for (const setting of SETTINGS) {
    const value = given[optionOf(setting).attributeName()];
    if (value !== undefined) flags.set(setting.key, value);
  }
  try {
    return await readConfig({
      flags,
      file: given['config'] as string | undefined,
      environment: terminal.environment,
      all: given['all'] === true,
    });
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandFailure(EXIT.usage, error.faults);
    throw error;
  }
}
