import { invalidArgument } from '../errors.js';
import type { ResourceCheck } from '../extensions.js';
import type { PushConfig, Subscription } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Values of the attribute that says which envelope is wanted; all get the same. */
const VERSION_ATTRIBUTE = 'x-goog-version';
const VERSIONS: ReadonlySet<string> = new Set(['v1', 'v1beta1', 'v1beta2']);

/** Whether a subscription is one that pushes. */
export function isPush({ pushConfig, detached }: Subscription): boolean {
  return !detached && pushConfig !== undefined && pushConfig.pushEndpoint !== '';
}

/**
 * Checks the push settings of a subscription that is about to be stored. The endpoint must be `https:`, or `http:` on this machine;
 * `allowHttp` lifts that.
 */
export function checkPush(allowHttp: boolean): ResourceCheck<Subscription> {
  return (subscription) => {
    const { pushConfig, enableExactlyOnceDelivery } = subscription;
    if (pushConfig === undefined || pushConfig.pushEndpoint === '') return;
    if (enableExactlyOnceDelivery) {
      throw invalidArgument('Exactly-once delivery is not supported for push subscriptions.');
    }
    checkPushConfig(pushConfig, allowHttp);
  };
}

function checkPushConfig(config: PushConfig, allowHttp: boolean): void {
  const { pushEndpoint, attributes, authenticationMethod } = config;
  if (!isEndpoint(pushEndpoint, allowHttp)) {
    throw invalidArgument(
      `Invalid push endpoint given (endpoint=${pushEndpoint}). Refer to ` +
        'https://cloud.google.com/pubsub/subscriber#create for more information.',
    );
  }
  const version = attributes[VERSION_ATTRIBUTE];
  if (version !== undefined && !VERSIONS.has(version)) {
    throw invalidArgument(`Invalid push_config attribute given (${VERSION_ATTRIBUTE}=${version}).`);
  }
  if (authenticationMethod.case === 'oidcToken' && authenticationMethod.value.serviceAccountEmail === '') {
    throw invalidArgument('push_config.oidc_token needs a service_account_email.');
  }
}

function isEndpoint(text: string, allowHttp: boolean): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  if (hostname === '') return false;
  if (protocol === 'https:') return true;
  return protocol === 'http:' && (allowHttp || isThisMachine(hostname));
}

function isThisMachine(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname)
  );
}
