import { createHash } from 'node:crypto';
import { percentEncode } from '../../base/percent.js';
import { channelName, channelNameFault, type ChannelName } from '../../core/channel-name.js';
import { invalidArgument, resourceNotFound } from './errors.js';

/**
 * Names of Pub/Sub resources and the channels behind them. The project segment is checked and then ignored: ids are
 * global (the mapping specification). Topic `t` is the log `gcp.{t}`, subscription `s` the queue `gcp.sub.{s}`.
 */

export type Collection = 'topics' | 'subscriptions' | 'snapshots' | 'schemas';

export interface ResourceName {
  readonly project: string;
  readonly id: string;
}

/** What a subscription's topic field says when the topic is gone. */
export const DELETED_TOPIC = '_deleted-topic_';

/** Marks of a subscription's per-key channels; reserved in subscription ids. */
export const KEY_MARK = '.k.';
export const HASHED_KEY_MARK = '.h.';

/** Topic ids must not begin with it: it is the name space of the subscriptions' queues. */
const SUBSCRIPTION_PREFIX = 'sub.';

/** Longest part of a channel name behind the subscription's own; longer encoded keys are hashed. Keeps ack ids short. */
const KEY_SUFFIX_BYTES_MAX = 120;

const PROJECT = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/;
const ID = /^[A-Za-z][A-Za-z0-9\-_.~+%]{2,254}$/;
const PROJECT_CHARS_MAX = 255;

/** Reads `projects/{p}/{collection}/{id}`; throws `invalid-argument`. */
export function parseResourceName(name: string, collection: Collection): ResourceName {
  const parts = name.split('/');
  const [root, project, kind, id] = parts;
  if (
    parts.length !== 4 ||
    root !== 'projects' ||
    kind !== collection ||
    project === undefined ||
    id === undefined ||
    !isProject(project)
  ) {
    throw invalidName(name, collection);
  }
  return { project, id };
}

/** Reads `projects/{p}`; throws `invalid-argument`. */
export function parseProject(name: string): string {
  const [root, project, ...rest] = name.split('/');
  if (root !== 'projects' || project === undefined || rest.length > 0 || !isProject(project)) {
    throw invalidArgument(`Invalid project name given (name=${name}).`);
  }
  return project;
}

export function resourceName(project: string, collection: Collection, id: string): string {
  return `projects/${project}/${collection}/${id}`;
}

/** Checks an id that is about to be created; throws `invalid-argument`. */
export function checkNewTopicId(name: string, id: string): void {
  checkId(name, 'topics', id);
  if (id.startsWith(SUBSCRIPTION_PREFIX)) {
    throw invalidArgument(`Invalid resource name given (name=${name}): a topic id cannot begin with "sub.".`);
  }
}

/** Checks an id that is about to be created; throws `invalid-argument`. */
export function checkNewSubscriptionId(name: string, id: string): void {
  checkId(name, 'subscriptions', id);
  if (id.includes(KEY_MARK) || id.includes(HASHED_KEY_MARK)) {
    throw invalidArgument(
      `Invalid resource name given (name=${name}): a subscription id cannot contain ".k." or ".h.".`,
    );
  }
}

/** Checks an id that is about to be created; throws `invalid-argument`. */
export function checkNewSnapshotId(name: string, id: string): void {
  checkId(name, 'snapshots', id);
}

/** Checks an id that is about to be created; throws `invalid-argument`. */
export function checkNewSchemaId(name: string, id: string): void {
  checkId(name, 'schemas', id);
}

/** Why there is no such resource: there could never be, which is `invalid-argument`, or there is not, `not-found`. */
export function missingResource(name: string, collection: Collection, id: string): Error {
  return isPossibleId(id) || id === DELETED_TOPIC ? resourceNotFound(id) : invalidName(name, collection);
}

export function topicChannel(id: string): ChannelName {
  return channelName(`gcp.${id}`);
}

export function subscriptionChannel(id: string): ChannelName {
  return channelName(`gcp.${SUBSCRIPTION_PREFIX}${id}`);
}

/** What the channel of an ordering key has behind the subscription's channel. */
export function orderingKeySuffix(key: string): string {
  const suffix = KEY_MARK + percentEncode(key);
  if (suffix.length <= KEY_SUFFIX_BYTES_MAX) return suffix;
  return HASHED_KEY_MARK + createHash('sha256').update(key, 'utf8').digest('hex');
}

function checkId(name: string, collection: Collection, id: string): void {
  if (!isPossibleId(id)) throw invalidName(name, collection);
  const fault = channelNameFault(`gcp.${id}`);
  if (fault !== undefined) throw invalidArgument(`Invalid resource name given (name=${name}): ${fault}.`);
}

function isPossibleId(id: string): boolean {
  return ID.test(id) && !id.startsWith('goog');
}

function isProject(project: string): boolean {
  return project.length <= PROJECT_CHARS_MAX && PROJECT.test(project);
}

function invalidName(name: string, collection: Collection): Error {
  return invalidArgument(
    `Invalid [${collection}] name: (name=${name}). Refer to ` +
      'https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names for more information.',
  );
}
