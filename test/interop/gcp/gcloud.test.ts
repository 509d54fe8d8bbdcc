import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/folder.js';
import { urlOf, useServer } from '../../support/server.js';
import { gcloudPubsub, gcloudSdk } from './gcloud.js';

describe.skipIf(gcloudSdk() === undefined)('gcloud pubsub', () => {
  const server = useServer({ connectors: ['gcp'], config: { store: { engine: 'memory' } } });

  it('works for topics, subscriptions, messages, snapshots, seek, schemas and transforms', async () => {
    const folder = temporaryFolder();
    const file = (name: string, text: string): string => {
      const path = join(folder.path, name);
      writeFileSync(path, text);
      return path;
    };
    const avro = file('a.avsc', '{"type":"record","name":"A","fields":[{"name":"x","type":"string"}]}');
    const code = 'function up(m) { m.data = m.data.toUpperCase(); return m; }';
    const transforms = file('t.json', JSON.stringify([{ javascriptUdf: { functionName: 'up', code } }]));
    const transform = file('u.json', JSON.stringify({ javascriptUdf: { functionName: 'up', code } }));
    const bad = file('b.json', JSON.stringify({ javascriptUdf: { functionName: 'up', code: 'function (' } }));
    const pull = ['subscriptions', 'pull', 's-one', '--format=value(message.data)'];
    const rows: readonly (readonly [command: readonly string[], code: number, text: string | RegExp])[] = [
      [['topics', 'create', 't-one', '--labels=a=b'], 0, 'Created topic'],
      [['topics', 'create', 't-one'], 1, 'Resource already exists in the project (resource=t-one).'],
      [
        ['subscriptions', 'create', 's-one', '--topic=t-one', '--ack-deadline=20', '--retain-acked-messages'],
        0,
        'Created',
      ],
      [['subscriptions', 'update', 's-one', '--ack-deadline=30'], 0, 'Updated subscription'],
      [['subscriptions', 'describe', 's-one'], 0, 'ackDeadlineSeconds: 30'],
      [['topics', 'publish', 't-one', '--message=first', '--attribute=k=v'], 0, 'messageIds'],
      [['snapshots', 'create', 'snap-one', '--subscription=s-one'], 0, 'Created snapshot'],
      [[...pull, '--auto-ack'], 0, /^first$/m],
      [['subscriptions', 'seek', 's-one', '--snapshot=snap-one'], 0, 'snapshotId'],
      [[...pull, '--auto-ack'], 0, /^first$/m],
      [['snapshots', 'list', '--format=value(name)'], 0, 'snap-one'],
      [['snapshots', 'delete', 'snap-one'], 0, 'Deleted snapshot'],
      [
        ['subscriptions', 'modify-push-config', 's-one', '--push-endpoint=http://example.com/'],
        1,
        'Invalid push endpoint',
      ],
      [['topics', 'list', '--format=value(name)'], 0, 't-one'],
      [['topics', 'list-subscriptions', 't-one'], 0, 's-one'],
      [['schemas', 'create', 'sch-one', '--type=avro', `--definition-file=${avro}`], 0, 'Created schema'],
      [['schemas', 'list', '--format=value(name)'], 0, 'sch-one'],
      [['schemas', 'list-revisions', 'sch-one'], 0, 'REVISION_ID'],
      [['schemas', 'validate-schema', '--type=avro', '--definition=garbage'], 1, 'Invalid schema definition'],
      [
        [
          'schemas',
          'validate-message',
          '--schema-name=sch-one',
          '--message-encoding=json',
          '--message={"x":1}',
        ],
        1,
        'INVALID_JSON_AVRO_MESSAGE',
      ],
      [
        [
          'topics',
          'create',
          't-two',
          '--schema=sch-one',
          '--message-encoding=json',
          `--message-transforms-file=${transforms}`,
        ],
        0,
        'Created topic',
      ],
      [
        ['message-transforms', 'validate', `--message-transform-file=${transform}`],
        0,
        'Message transform is valid.',
      ],
      [['message-transforms', 'validate', `--message-transform-file=${bad}`], 1, 'Invalid JavaScript UDF'],
      [['message-transforms', 'test', '--message=low', `--message-transforms-file=${transforms}`], 0, 'LOW'],
      [['message-transforms', 'test', '--message=low', '--topic=t-two'], 0, 'LOW'],
      [['topics', 'publish', 't-two', '--message={"x":"low"}'], 1, 'failed schema validation'],
      [['schemas', 'delete', 'sch-one'], 0, 'Deleted schema'],
      [['topics', 'detach-subscription', 's-one'], 0, 'Detached subscription'],
      [['subscriptions', 'delete', 's-one'], 0, 'Deleted subscription'],
      [['topics', 'delete', 't-one'], 0, 'Deleted topic'],
      [['topics', 'describe', 't-one'], 1, 'Resource not found (resource=t-one).'],
    ];
    const results = await gcloudPubsub(
      urlOf(server(), 'gcp'),
      rows.map(([command]) => command),
    );
    folder.remove();
    const said = rows.map(([command], i) => {
      const { code, out, err } = results[i]!;
      return [command.join(' '), code, out + err];
    });
    const wanted = rows.map(([command, code, text]) => [
      command.join(' '),
      code,
      typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text),
    ]);
    expect(said).toEqual(wanted);
  });
});
