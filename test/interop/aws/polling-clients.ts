import { Agent, request } from 'node:http';

/*
 * Many SQS clients in a process of their own, each with a connection and a long poll of its own. A file descriptor a client
 * is all they share with nobody: node raises its soft limit of those to the hard one by itself.
 */

/** What the process is told. */
export type PollingOrder =
  | { readonly kind: 'begin'; readonly url: string; readonly queue: string }
  /** These clients poll, and poll again whenever a poll ends without a message. */
  | { readonly kind: 'poll'; readonly from: number; readonly to: number; readonly waitSeconds: number }
  /** Polls that end without a message are the last; answered with `rested` when all have ended. */
  | { readonly kind: 'rest' };

/** What it tells. */
export type PollingReport =
  /** A client got messages, and polls no more. `polls` counts those that it made since it was last told to. */
  | {
      readonly kind: 'got';
      readonly client: number;
      readonly bodies: readonly string[];
      readonly polls: number;
    }
  | { readonly kind: 'rested'; readonly empty: number }
  | { readonly kind: 'failed'; readonly error: string };

/** Connections that are opened at once: a listener's backlog is no queue for thousands. */
const OPENING_MAX = 100;

const agent = new Agent({ keepAlive: true, maxSockets: Infinity, maxFreeSockets: Infinity });
const opening: (() => void)[] = [];
let openings = 0;
let target = { url: '', queue: '' };
let resting = false;
let underWay = 0;
let empty = 0;

function report(message: PollingReport): void {
  process.send?.(message);
}

/** Runs `open` when few enough connections are being opened; it calls back when its own is there. */
function open(connect: (opened: () => void) => void): void {
  if (openings >= OPENING_MAX) {
    opening.push(() => {
      open(connect);
    });
    return;
  }
  openings++;
  let isOpen = false;
  connect(() => {
    if (isOpen) return;
    isOpen = true;
    openings--;
    opening.shift()?.();
  });
}

function poll(client: number, waitSeconds: number, polls: number): void {
  open((opened) => {
    const headers = {
      'x-amz-target': 'AmazonSQS.ReceiveMessage',
      'content-type': 'application/x-amz-json-1.0',
    };
    const call = request(target.url, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('end', () => {
        if (response.statusCode === 200) ended(client, waitSeconds, { polls, bodies: bodiesIn(text) });
        else report({ kind: 'failed', error: `${String(response.statusCode)} ${text}` });
      });
    });
    call.on('socket', (socket) => {
      if (socket.connecting) socket.once('connect', opened);
      else opened();
    });
    call.on('error', (error) => {
      report({ kind: 'failed', error: String(error) });
    });
    call.end(JSON.stringify({ QueueUrl: target.queue, WaitTimeSeconds: waitSeconds }));
  });
}

function bodiesIn(text: string): readonly string[] {
  const { Messages = [] } = JSON.parse(text) as { readonly Messages?: readonly { readonly Body: string }[] };
  return Messages.map(({ Body }) => Body);
}

function ended(
  client: number,
  waitSeconds: number,
  { bodies, polls }: { readonly bodies: readonly string[]; readonly polls: number },
): void {
  if (bodies.length > 0) report({ kind: 'got', client, bodies, polls });
  else empty++;
  if (bodies.length === 0 && !resting) poll(client, waitSeconds, polls + 1);
  else underWay--;
  rested();
}

function rested(): void {
  if (resting && underWay === 0) report({ kind: 'rested', empty });
}

process.on('message', (order: PollingOrder) => {
  if (order.kind === 'begin') target = order;
  if (order.kind === 'rest') {
    resting = true;
    rested();
  }
  if (order.kind !== 'poll') return;
  resting = false;
  for (let client = order.from; client < order.to; client++) {
    underWay++;
    poll(client, order.waitSeconds, 1);
  }
});
process.on('disconnect', () => process.exit());
