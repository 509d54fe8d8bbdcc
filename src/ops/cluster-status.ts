/** A member of the cluster, by what it last said of itself. */
export interface ClusterMember {
  readonly id: string;
  readonly host: string;
  /** `owner` or `standby`; `unknown` until it has said so. */
  readonly role: string;
  /** Epoch of the claim it holds or held last; 0 = none yet. */
  readonly epoch: number;
  /** Messages of the journal's stream that a standby has not read yet. */
  readonly lag: number;
}

/** The cluster as one node sees it. */
export interface ClusterStatus {
  /** The one that answers. */
  readonly node: string;
  /** When it is the owner: how long it would stay so without another renewal. */
  readonly leaseLeftMs?: number;
  readonly members: readonly ClusterMember[];
}
