/**
 * The other nodes, as live traffic sees them: messages one way, at most once. Those between two members keep their order.
 * An implementation gathers what is sent in one turn.
 */
export interface LivePeers {
  /** This node's name, unique among the members. */
  readonly self: string;
  /** Rejects when it is not known to have arrived. */
  send(member: string, message: Uint8Array): Promise<void>;
  /** Tells of members that are there already and of those to come. Called once, before anything is sent. */
  attach(handlers: LivePeerHandlers): void;
}

export interface LivePeerHandlers {
  joined(member: string): void;
  left(member: string): void;
  /** A view: it may be kept, and does not change. Must not throw. */
  message(from: string, message: Uint8Array): void;
}

/** Nobody else is there. */
export const NO_PEERS: LivePeers = {
  self: 'local',
  send: () => Promise.resolve(),
  attach: () => undefined,
};
