import type { UserRecord } from '../access/local-access.js';
import { DEFAULT_HASHING, hashPassword, isKnownHashing } from '../access/password.js';
import type { Api } from './api.js';
import { badRequest, notFound } from './http-error.js';
import type { Input } from './json-input.js';
import { listed } from './lists.js';
import type { ApiAnswer, ApiCall, Handler, Route } from './routes.js';
import { route } from './routes.js';
import type { Json } from './views.js';

const SALT_BYTES = 4;

type Admin = (handler: Handler) => Handler;

/** Only administrators get to the handler. */
export function administratorsOf(api: Api): Admin {
  return (handler) => (call) => {
    api.requireAdministrator(call.identity);
    return handler(call);
  };
}

/** Users: list, look, make, remove. */
export function userRoutes(api: Api): readonly Route[] {
  const { users } = api;
  const admin = administratorsOf(api);
  return [
    route('GET', 'whoami', ({ identity }) => ({
      body: { name: identity.user, tags: [...identity.tags], is_internal_user: true },
    })),
    route(
      'GET',
      'users',
      admin((call) => ({
        body: listed(
          users.users.map((user) => userJson(api, user)),
          call.query,
        ),
      })),
    ),
    route(
      'GET',
      'users/:',
      admin((call) => ({ body: userJson(api, userNamed(api, call)) })),
    ),
    route(
      'PUT',
      'users/:',
      admin((call) => putUser(api, call)),
    ),
    route(
      'DELETE',
      'users/:',
      admin((call) => removeUser(api, call)),
    ),
  ];
}

function userJson(api: Api, { name, passwordHash, hashing, tags }: UserRecord): Json {
  return {
    name,
    password_hash: passwordHash,
    hashing_algorithm: hashing === '' ? DEFAULT_HASHING : hashing,
    tags: [...tags],
    limits: api.context.limits.of('user', name)?.values ?? {},
  };
}

function userNamed(api: Api, call: ApiCall): UserRecord {
  const user = api.users.user(call.parameters[0] ?? '');
  if (user === undefined) throw notFound();
  return user;
}

/** Tags stand in a list, or in a text with commas. */
export function tagsOf(input: Input): readonly string[] {
  const tags = input.values['tags'] ?? '';
  const parts: readonly unknown[] = Array.isArray(tags)
    ? tags
    : typeof tags === 'string'
      ? tags.split(',')
      : [];
  return parts.flatMap((tag) => (typeof tag === 'string' && tag.trim() !== '' ? [tag.trim()] : []));
}

/** A user from what a request or a definitions file says: a password, or the hash of one. */
export function userOf(name: string, input: Input, salt: Uint8Array): UserRecord {
  const { values } = input;
  const tags = tagsOf(input);
  if (name === '' || Buffer.byteLength(name) > 255) throw badRequest('the name of a user has 1 to 255 bytes');
  if (typeof values['password'] === 'string') {
    return { name, passwordHash: hashPassword(values['password'], salt), hashing: DEFAULT_HASHING, tags };
  }
  const hashing = input.text('hashing_algorithm', DEFAULT_HASHING);
  if (!isKnownHashing(hashing)) throw badRequest(`unknown hashing_algorithm: ${hashing}`);
  const passwordHash = input.text('password_hash', '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(passwordHash) || passwordHash.length % 4 !== 0) {
    throw badRequest('password_hash is not base64');
  }
  return { name, passwordHash, hashing, tags };
}

async function putUser(api: Api, call: ApiCall): Promise<ApiAnswer> {
  const [name = ''] = call.parameters;
  const known = api.users.user(name) !== undefined;
  await api.users.putUser(userOf(name, call.input, api.context.ids.bytes(SALT_BYTES)));
  return { status: known ? 204 : 201 };
}

/** Without any user nobody is checked: the last one stays. */
async function removeUser(api: Api, call: ApiCall): Promise<ApiAnswer> {
  const { name } = userNamed(api, call);
  if (api.users.users.length === 1)
    throw badRequest('the last user cannot be removed: passwords are checked as long as there is one');
  await api.users.removeUser(name);
  await api.context.limits.put('user', name, {});
  return {};
}
