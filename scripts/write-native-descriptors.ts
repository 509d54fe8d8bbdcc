// `node --import tsx scripts/write-native-descriptors.ts`: writes the descriptors of the native API's .proto files, which
// reflection serves and the REST API takes its names from. A test says when they differ from the files.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'src/connectors/native/wire');
const image = execFileSync(
  join(root, 'node_modules/.bin/buf'),
  ['build', folder, '--exclude-source-info', '--as-file-descriptor-set', '-o', '-#format=binpb'],
  { maxBuffer: 16 * 1024 * 1024 },
);
const files = fromBinary(FileDescriptorSetSchema, image).file.map((file) => {
  const text = Buffer.from(toBinary(FileDescriptorProtoSchema, file)).toString('base64');
  const lines = text.match(/.{1,104}/g) ?? [];
  return `  '${file.name}':\n${lines.map((line) => `    '${line}'`).join(' +\n')},\n`;
});
writeFileSync(
  join(folder, 'descriptors.ts'),
  `/** FileDescriptorProtos of the .proto files beside this one, in base64: made by scripts/write-native-descriptors.ts. */
export const DESCRIPTORS: Readonly<Record<string, string>> = {
${files.join('')}};
`,
);
