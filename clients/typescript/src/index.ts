// The public surface of the package.
export {Client, type ClientOptions, defineJob, type JobType, type RequestOptions} from './client.js';
export type {Duration} from './codec.js';
export * from './errors.js';
export {jsonLogger, type LogFields, type Logger} from './log.js';
export type {Trace} from './trace.js';
export type * from './model.js';
export {type Handler, Worker, type WorkerOptions, type WorkerTotals} from './worker.js';
export type {ActiveJob, HandlerContext, Progress} from './attempt.js';
