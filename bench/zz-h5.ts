import { PubSubConnection, pubsubPublishTemplate } from './client/pubsub.js';
const port = Number(process.argv[2]); const batch = Number(process.argv[3] ?? 100); const secs = Number(process.argv[4] ?? 6); const pull = process.argv[5] === 'pull';
const conns = await Promise.all([PubSubConnection.open(port), PubSubConnection.open(port)]);
const topic = 'projects/b/topics/prof', sub = 'projects/b/subscriptions/prof';
await conns[0]!.createTopic(topic).catch(() => {}); await conns[0]!.createSubscription(sub, topic).catch(() => {});
let n = 0; const end = performance.now() + secs * 1000; const t0 = performance.now();
await Promise.all(Array.from({ length: 32 }, async (_, i) => { const t = pubsubPublishTemplate(topic, batch); while (performance.now() < end) { n += await conns[i % 2]!.publish(t.request); } }));
console.log('published/s', Math.round(n / (performance.now() - t0) * 1000));
if (pull) {
  let got = 0; const t1 = performance.now(); let done!: () => void; const fin = new Promise<void>((r) => (done = r));
  const streams: any[] = [];
  for (let i = 0; i < 5; i++) { const s: any = conns[i % 2]!.streamingPull({ subscription: sub, onMessages: (ms) => { s2(ms); }, onEnd: () => {} }); streams.push(s); function s2(ms: any) { got += ms.length; s.acknowledge?.(ms.map((m: any) => m.ackId)); if (got >= n) done(); } }
  await fin; console.log('pulled/s', Math.round(got / (performance.now() - t1) * 1000));
}
process.exit();
