/** A server under load. */
export interface Server {
  readonly pid: number;
  /** Port by listener: `aws`, `gcp`, `amqp`, `native-grpc`. */
  readonly ports: Readonly<Record<string, number>>;
  /** Ends it and removes what it stored. */
  stop(): Promise<void>;
}

export interface Contender {
  readonly name: string;
  /** Why it cannot be had on this machine, or undefined. */
  absent(): string | undefined;
  /** Untimed run before the others, when more than the usual is needed until it is at speed. */
  readonly warmUpSeconds?: number;
  start(): Promise<Server>;
}
