import { describe, expect, it } from 'vitest';
import { awsConfigSchema } from './config.js';
import { originOf, queueUrl } from './urls.js';
import type { Caller } from './urls.js';

const config = awsConfigSchema.parse({});
const place = { config, port: 4566, secure: false };

function headers(of: Readonly<Record<string, string>>, encrypted = false): Caller {
  return { header: (name) => of[name], encrypted };
}

describe('URLs in answers', () => {
  it('begin with what the client used', () => {
    expect(originOf(place, headers({ host: 'broker:14566' }))).toBe('http://broker:14566');
    expect(originOf(place, headers({ host: 'broker' }, true))).toBe('https://broker');
    expect(originOf(place, headers({ host: 'queue.example', 'x-forwarded-proto': 'HTTPS' }))).toBe(
      'https://queue.example',
    );
    expect(originOf(place, headers({ host: 'h', 'x-forwarded-proto': 'https://evil' }))).toBe('http://h');
  });

  it('begin with this machine when nobody said more', () => {
    expect(originOf(place)).toBe('http://localhost:4566');
    expect(originOf({ ...place, secure: true })).toBe('https://localhost:4566');
    expect(originOf(place, headers({}))).toBe('http://localhost:4566');
  });

  it('begin with what is advertised before all', () => {
    const advertised = awsConfigSchema.parse({ advertisedUrl: 'https://sqs.example:8443/' });
    expect(originOf({ ...place, config: advertised }, headers({ host: 'h' }))).toBe(
      'https://sqs.example:8443',
    );
  });

  it('name account and queue', () => {
    expect(queueUrl('http://h:1', config, 'q.fifo')).toBe('http://h:1/000000000000/q.fifo');
  });
});
