// Checked by tsc, never run: what the declarations allow, and what they refuse.
import { AbortTask, Complete, FailTask, Job, LogEntry, StopReason, Worker, YieldTask } from 'pgscylla';

interface Mail {
  to?: string;
}

const worker = new Worker<Mail>(
  {
    connection: ['postgres:///shop', { host: 'b', database: 'shop' }],
    queues: ['mail', 'urgent'],
    concurrency: 4,
    leaseTimeout: 30000,
    capacity: (room) => room / 2,
    log: (entry: LogEntry) => console.log(entry.event, entry.rn?.length),
  },
  async (job) => {
    const to: string | undefined = job.spec.to;
    if (to === undefined) throw new AbortTask('no-address', 'there is none', { rn: job.rn });
    if (job.attempt > 5) throw new FailTask('busy', '', {}, { retryAfter: 1000 });
    if (await job.sleep(10)) throw new YieldTask();
    job.progress(0.5);
    job.signal.throwIfAborted();
    const why: StopReason | null = job.stopReason;
    return new Complete({ to, why, since: job.task.created.getTime() }, { seconds: 1 });
  },
);
worker.stopOnSignals();
const abandoned: Promise<number> = worker.run();
const name: string | null = worker.name;
const held: number = worker.counters().held;
new Worker({ queues: 'mail' }, (job: Job) => job.spec.anything.goes);

// @ts-expect-error queues are needed
new Worker({}, () => null);
// @ts-expect-error not a number
new Worker({ queues: 'mail', concurrency: '4' }, () => null);
// @ts-expect-error no such option
new Worker({ queues: 'mail', lease_timeout: 5 }, () => null);
// @ts-expect-error no such member of the spec
new Worker<Mail>({ queues: 'mail' }, (job) => job.spec.from);
// @ts-expect-error it is read-only
new Worker({ queues: 'mail' }, (job) => (job.attempt = 1));
// @ts-expect-error a code is needed
new AbortTask();

export { abandoned, held, name };
