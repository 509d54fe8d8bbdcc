// `npm run docs:configuration`: writes docs/configuration.md from the schema. A test says when it is out of date.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { SETTINGS } from '../src/app/settings.js';
import { configurationPage } from '../src/ops/config/page.js';

const file = join(import.meta.dirname, '../docs/configuration.md');
const style = await resolveConfig(file);
writeFileSync(file, await format(configurationPage(SETTINGS), { ...style, parser: 'markdown' }));
