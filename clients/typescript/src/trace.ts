// W3C Trace Context: jobs that a handler enqueues belong to the trace of its job.
import {AsyncLocalStorage} from 'node:async_hooks';

/** The headers of a trace. */
export interface Trace {
  traceparent: string;
  tracestate?: string;
}

const storage = new AsyncLocalStorage<Trace>();

/** The trace of the job that is being handled. */
export const currentTrace = () => storage.getStore();

/** The trace of a job with these headers. */
export function traceOf(headers: Record<string, string> | undefined): Trace | undefined {
  const traceparent = headers?.traceparent;
  if (!traceparent) return undefined;
  const tracestate = headers.tracestate;
  return tracestate ? {traceparent, tracestate} : {traceparent};
}

/** Runs a function in a trace. Without one it runs plainly: tracking the context slows down every promise. */
export const runInTrace = <T>(trace: Trace | undefined, run: () => T): T => (trace ? storage.run(trace, run) : run());
