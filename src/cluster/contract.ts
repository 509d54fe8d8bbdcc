/** A member of the cluster. */
export interface Member {
  readonly id: string;
  /** What it said of itself with its last sign of life. */
  readonly about?: MemberAbout;
}

/** Plain facts for people: never decide anything by them. */
export type MemberAbout = Readonly<Record<string, string | number>>;

/** A held claim. `epoch` rises with every change of owner; journals refuse writers of older epochs. */
export interface Claim {
  readonly name: string;
  readonly epoch: number;
  /** False from the moment this node's own clock ends the lease: before `lost` resolves, and whatever the node slept through. */
  readonly held: boolean;
  /** What is left of the lease; Infinity where it never ends. */
  readonly leaseLeftMs: number;
  /** Resolves when the claim is gone, with the reason. */
  readonly lost: Promise<string>;
  release(): Promise<void>;
}

/** Who is there and who owns what. */
export interface Coordinator {
  readonly self: Member;
  members(): readonly Member[];
  /** Called at each change of the member list. Returns the un-watch. */
  watchMembers(seen: (members: readonly Member[]) => void): () => void;
  /** Called when some claim was given back: whoever wants one asks again. Returns the un-watch. */
  watchClaims(seen: () => void): () => void;
  /** Claims `name`, or undefined while another member owns it. */
  claim(name: string): Promise<Claim | undefined>;
  /** The owner of `name`, if any. */
  owner(name: string): Promise<Member | undefined>;
  close(): Promise<void>;
}

/** A credit-controlled stream between nodes. */
export interface BusStream {
  /** Resolves when the peer has credit for it. */
  write(chunk: Uint8Array): Promise<void>;
  read(): Promise<Uint8Array | undefined>;
  end(): void;
  /** Ends both directions at once: the peer's `read` and `write` reject. What was written and is under way may be lost. */
  abort(): void;
}

/** Node-to-node calls. `service` is a name registered with `serve` on the peer. */
export interface Bus {
  request(member: Member, service: string, body: Uint8Array, timeoutMs: number): Promise<Uint8Array>;
  open(member: Member, service: string): Promise<BusStream>;
  serve(service: string, handlers: BusHandlers): () => void;
  close(): Promise<void>;
}

export interface BusHandlers {
  request?(from: Member, body: Uint8Array): Promise<Uint8Array>;
  stream?(from: Member, stream: BusStream): Promise<void>;
}
