import { textOfDefault, type Setting } from './setting.js';

const HEAD = `# Configuration

<!-- Written by \`npm run docs:configuration\` from the schema; do not edit. -->

Every setting has three names: a flag of \`polymq serve\`, an environment variable, and a key of the YAML file that
\`--config FILE\` or \`POLYMQ_CONFIG\` names. The flag wins over the environment, the environment over the file, the file
over the default. A bad value stops the start and names the setting (exit code 2); so does an unknown key of the file.
\`polymq config\` prints what is in effect, with secrets hidden.

Port 0 takes a free port; the \`ready\` line says which. A connector is off unless it is enabled; \`npm start\` and
\`polymq serve --all\` enable all of them, except those you switch off by name.

Example of a file:

\`\`\`yaml
store:
  path: /var/lib/polymq
connectors:
  aws:
    enable: true
  amqp:
    enable: true
aliases:
  - { alias: amqp.default.orders, channel: sqs.orders }
\`\`\`

Lists of queues, topics and the like are written as structures in the file, as JSON in a variable or behind a flag. What
they mean is in [operations](operations.md#queues-and-topics-from-the-file).
`;

/** The reference page of all settings, as Markdown. */
export function configurationPage(settings: readonly Setting[]): string {
  const groups = new Map<string, Setting[]>();
  for (const setting of settings) {
    const name = setting.path.slice(0, -1).join('.');
    groups.set(name, [...(groups.get(name) ?? []), setting]);
  }
  const sections = [...groups].map(
    ([name, members]) => `## ${name === '' ? 'General' : `\`${name}\``}\n\n${members.map(entry).join('\n')}`,
  );
  return `${HEAD}\n${sections.join('\n\n')}\n`;
}

function entry(setting: Setting): string {
  const fallback = textOfDefault(setting);
  const facts = [
    `default ${fallback === '' ? 'empty' : `\`${fallback}\``}`,
    ...(setting.bounds === '' ? [] : [setting.bounds]),
  ];
  const others = setting.otherEnvironments.map((name) => ` (also \`${name}\`)`).join('');
  const names = `**\`${setting.environment}\`**${others} · \`${setting.flag}\` · \`${setting.key}\``;
  return `- ${names}\n  ${setting.description} (${facts.join('; ')})`;
}
