import type { Clock, Timer } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { NO_IDENTITY, type Identity } from '../../connectors/kit/identity.js';
import type { TlsSource } from '../../connectors/kit/tls-gate.js';
import { OpenGate, PolicyGate, type Gatekeeper, type Refusals } from '../../core/access/gatekeeper.js';
import type { AccessPolicy } from '../../core/access/policy.js';
import type { Broker } from '../../core/broker-api.js';
import type { AuthenticationConfig, AuthorizationConfig, SecurityConfig } from '../config/security.js';
import type { readPolicy } from './policy-text.js';
import { textOf } from './secret-text.js';
import { hasTls, TlsSettings } from './tls-settings.js';
import type { TokenVerifier } from './token-verifier.js';

export interface SecurityParts {
  readonly config: {
    readonly security: SecurityConfig;
    readonly authentication: AuthenticationConfig;
    readonly authorization: AuthorizationConfig;
  };
  readonly clock: Clock;
  readonly log: Log;
}

/** What is loaded only where the configuration asks for it. */
interface Loaded {
  readonly newVerifier: (() => TokenVerifier) | undefined;
  readonly readPolicy: typeof readPolicy | undefined;
}

/** Reads everything. Rejects with an error that names the setting when something is no good. */
export async function openSecurity(parts: SecurityParts): Promise<Security> {
  const { authentication, authorization } = parts.config;
  const tokens = authentication.enable ? await import('./token-verifier.js') : undefined;
  const policies = authorization.enable ? await import('./policy-text.js') : undefined;
  return new Security(parts, {
    newVerifier: tokens && (() => new tokens.TokenVerifier(authentication.jwtConfig, parts.clock)),
    readPolicy: policies?.readPolicy,
  });
}

/** Something that is read from files and can be read again. */
interface Part {
  readonly name: string;
  readonly everySeconds: number;
  /** True when it is another one now; throws when it is no good. */
  readonly refresh: () => boolean;
}

/** What was refused since the start. */
export interface SecurityFigures {
  /** Undefined: tokens are not looked at. */
  readonly tokensRefused: number | undefined;
  /** Empty: there are no rules. */
  readonly refusals: readonly Readonly<Refusals>[];
}

/** Who clients are, what they may do, and what is spoken with them; all of it replaced while the broker runs. */
export class Security {
  readonly identity: Identity;
  readonly tls: TlsSource | undefined;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #parts: Part[] = [];
  readonly #timers = new Map<Part, Timer>();
  readonly #faults = new Map<Part, string>();
  readonly #authorization: AuthorizationConfig;
  readonly #readPolicy: Loaded['readPolicy'];
  #verifier: TokenVerifier | undefined;
  #policyText = '';
  #policy: AccessPolicy | undefined;
  #gate: PolicyGate | undefined;

  constructor({ config, clock, log }: SecurityParts, loaded: Loaded) {
    this.#clock = clock;
    this.#log = log;
    this.#authorization = config.authorization;
    this.#readPolicy = loaded.readPolicy;
    const { autoReload } = config.security;
    if (hasTls(config.security)) {
      const tls = new TlsSettings(config.security);
      this.tls = tls;
      this.#parts.push({ name: 'certificates', everySeconds: autoReload, refresh: () => tls.refresh() });
      log.info('listeners speak TLS', { certificateValidTo: tls.validTo });
    }
    const verifier = loaded.newVerifier?.();
    if (verifier !== undefined) {
      this.identity = verifier;
      this.#verifier = verifier;
      this.#parts.push({ name: 'token key', everySeconds: autoReload, refresh: () => verifier.refresh() });
    } else {
      this.identity = NO_IDENTITY;
    }
    if (this.#readPolicy !== undefined) {
      this.#refreshPolicy();
      const everySeconds = config.authorization.autoReload;
      this.#parts.push({ name: 'policy', everySeconds, refresh: () => this.#refreshPolicy() });
    }
  }

  /** Where connectors get the broker for their clients. Once. */
  gateOf(broker: Broker): Gatekeeper {
    if (this.#policy === undefined) return new OpenGate(broker);
    this.#gate = new PolicyGate(broker, this.#policy);
    return this.#gate;
  }

  figures(): SecurityFigures {
    return { tokensRefused: this.#verifier?.refused, refusals: this.#gate?.refusals ?? [] };
  }

  start(): void {
    for (const part of this.#parts) this.#lookLater(part);
  }

  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  /** Reads all files again now. What is no good is logged, and the old one stays in force. */
  reload(): void {
    for (const part of this.#parts) this.#refresh(part);
  }

  #lookLater(part: Part): void {
    if (part.everySeconds === 0) return;
    this.#timers.set(
      part,
      this.#clock.after(part.everySeconds * 1000, () => {
        this.#refresh(part);
        this.#lookLater(part);
      }),
    );
  }

  #refresh(part: Part): void {
    try {
      if (part.refresh()) this.#log.info('reloaded', { what: part.name });
      this.#faults.delete(part);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      // Said once, not at every look.
      if (this.#faults.get(part) === why) return;
      this.#faults.set(part, why);
      this.#log.error('cannot reload; the old one stays in force', { what: part.name, error: why });
    }
  }

  #refreshPolicy(): boolean {
    const { policyData: data, filePath: file } = this.#authorization;
    const name = data === '' ? file : 'AUTHORIZATION_POLICY_DATA';
    const text = textOf({ name: 'AUTHORIZATION_FILE_PATH', data, file });
    if (text === this.#policyText) return false;
    const policy = this.#readPolicy?.(name, text);
    if (policy === undefined) return false;
    this.#policyText = text;
    this.#policy = policy;
    this.#gate?.replace(policy);
    return true;
  }
}
