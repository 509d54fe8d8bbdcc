import { eachReportIsTested, type Report } from '../../support/reports.js';

const wire = (file: string, title: string) => [`test/interop/gcp/${file}.test.ts`, title] as const;
const contract = (file: string, title: string) => [`test/contract/pubsub/${file}.test.ts`, title] as const;
const known = (title: string) => contract('known-problems', title);

const REPORTS: readonly Report[] = [
  [
    'signs of life are answered, and keep a stream',
    'google-cloud-go 14358, google-cloud-java 14348',
    wire('streaming-pull', 'answers signs of life'),
    wire('streaming-pull', 'says the properties first, and with every response'),
  ],
  [
    'a sign of life says nothing that only the first request may',
    'pekko-connectors 1624, 1625, 1620, 1458; google-cloud-rust 4154',
    known('take only signs of life without what the first request said'),
    wire('lifecycle', 'closes streams so that clients go elsewhere'),
  ],
  [
    'a hundred messages of a key come in order, exactly once',
    'java-pubsub 1889',
    known('holds for 100 messages of a key with exactly-once delivery'),
  ],
  [
    'a client hears at once that delivery is exactly once',
    'nodejs-pubsub 1646',
    known('say at once that delivery is exactly once, and when that changes'),
  ],
  [
    'of several leases only those that are gone are refused',
    'nodejs-pubsub 1547',
    known('tells of each lease whether it was extended'),
  ],
  [
    'a lease is extended from now, under the same id',
    'google-cloud-go 8398, 5989',
    contract('delivery', 'extends from now, under the same id'),
  ],
  [
    'over HTTP, too, a client learns which ids were no good',
    'fs2-pubsub 466, google-cloud-cpp 9619',
    wire('rest', 'says which acknowledgements came too late, as gRPC does'),
  ],
  [
    'a message belongs to whoever has its lease, and to nobody else',
    'java-pubsub 2555',
    known('refuses the receipt of a message that came too late, which then belongs to whoever got it'),
  ],
  [
    'what may be tried again says so as clients look for it',
    'google-cloud-php, its retries of exactly-once delivery',
    contract('delivery', 'says which acknowledgements came too late, for clients that read either detail'),
    contract('delivery', 'settles the good ones of a mixed call, and takes them again'),
  ],
  [
    'a seek to now ends what is there',
    'firebase-tools 5348',
    contract('seek', 'now ends everything, leases too'),
  ],
  [
    'every method is served',
    'google-cloud-cpp 4792',
    wire('surface', 'has 38 methods, each of which is served over gRPC'),
    contract('resources', 'are made, read, listed, changed and deleted'),
    contract('resources', 'that are detached get nothing, hand out nothing, and can be detached again'),
  ],
  [
    'the name may stand in the path, the body, or both',
    'google-cloud-php 5533; gcloud (Dart) 65, 66',
    wire('rest', 'takes the name of what changes from the path, the body or both'),
    ['src/connectors/gcp/rest/request-reader.test.ts', 'may name in the body what the path names'],
  ],
  [
    'every field that can change is known to a mask',
    'nodejs-pubsub 1029, google-cloud-go 5939',
    known('know %s (nodejs-pubsub#1029, google-cloud-go#5939)'),
  ],
  [
    'the whole language of filters is read',
    'google-cloud-go 9015, 14497',
    ['src/connectors/gcp/filter.test.ts', 'means what its parts mean'],
    ['src/connectors/gcp/filter.test.ts', 'whatever the text, is compiled or refused with invalid-argument'],
  ],
  [
    'a filter never changes',
    'floci-gcp 110',
    known('leave the filter as it is, with a mask and without (floci-gcp#110)'),
  ],
  [
    'what is published later comes to a stream that is open',
    'floci-gcp 83',
    wire('streaming-pull', 'hands out what is published later'),
  ],
  [
    'a key goes on when its messages became dead letters',
    'google-cloud-dotnet 11793',
    contract('delivery', 'let go of their ordering key'),
  ],
  [
    'a nack does not stall its key',
    'nodejs-pubsub 1708',
    known('goes on after a nack with exactly-once delivery'),
  ],
  [
    'nothing comes again while its lease is extended',
    'google-cloud-dotnet 4881; python-pubsub 30, google-cloud-python 10366',
    known('give each message once to a slow client that takes one at a time and extends'),
  ],
  [
    'attempts are counted where there is a dead-letter policy, and nowhere else',
    'gcloud-pubsub-emulator 12; java-pubsub 67',
    contract('delivery', 'are forwarded after their last attempt, with where they come from'),
    contract('emulator-problems', 'has no delivery attempt without a dead-letter policy'),
    wire('push', 'counts its attempts, and gives up to the dead-letter topic'),
  ],
  [
    'what is pushed has both spellings, the time and the full name',
    'functions-framework-go 46, -python 23, -dotnet 234',
    wire('push', 'posts each message, wrapped'),
  ],
  [
    'a stream ends at once with its subscription, and a new one of the name is another',
    'nodejs-pubsub 2006',
    wire('streaming-pull', 'ends NOT_FOUND with its subscription'),
    contract(
      'emulator-problems',
      'of a former subscription of the name are refused, even of the same moment',
    ),
  ],
  [
    'a stream that ended is opened again, and its leases are kept',
    'nodejs-pubsub 979, 1135',
    known('that end keep their leases, and another one gets the rest'),
  ],
  [
    'an expected end is known by its code and sentence',
    'vector 25151, google-cloud-go 9788',
    wire('lifecycle', 'ends old streams by age'),
    wire('lifecycle', 'closes streams so that clients go elsewhere'),
  ],
  [
    'HTTP/1.1 is served on the port of gRPC',
    'vector 15171, cloud-sdk-docker 224',
    wire('rest', 'is there beside gRPC, and says so'),
    wire('rest', 'does what gRPC does, on the same resources'),
  ],
  [
    'an address that cannot be bound is named',
    'spring-cloud-gcp 411, nodejs-pubsub 339',
    ['test/system/addresses.test.ts', 'says which address it cannot bind to'],
  ],
  [
    'schemas are served on the same port',
    'python-pubsub 647',
    wire('schemas', 'are created, shown, listed and deleted'),
  ],
  [
    'streams that rest cost nothing',
    'firebase-tools 9744',
    contract('streams', 'cost no work, however many they are'),
  ],
  [
    'a filter does not disturb the order of a key',
    'google-cloud-rust (yoshidan) 300, feldera 2313',
    known('holds with a filter'),
  ],
  [
    'one message of a key is out at a time, and errors are said in words',
    'cloudemu 1063',
    known('never has two messages of a key in one Pull'),
    wire('rest', 'answers errors as Google does'),
  ],
  [
    'what is too large is refused',
    'google-cloud-dotnet 5673',
    wire('messages', 'of %s is refused whole'),
    wire('messages', 'of what is just allowed is not'),
  ],
  [
    'topics and subscriptions can be there when the server is',
    'gcloud-aio 989, google-cloud-go 953',
    [
      'test/system/declared.test.ts',
      'are there when the broker is, stay at the next start, and follow the file',
    ],
  ],
];

eachReportIsTested(REPORTS);
