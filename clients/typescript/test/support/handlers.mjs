// The handlers of the protocol cases, and how often they started and were asked to stop.
import {setTimeout as sleep} from 'node:timers/promises';
import {PermanentError, Snooze} from '../../dist/index.js';

export class Handled {
  #counts = new Map();
  #blocked = new Map();
  #isOpen = false;

  #of(kind) {
    if (!this.#counts.has(kind)) this.#counts.set(kind, {started: 0, cancelled: 0});
    return this.#counts.get(kind);
  }

  count(kind, what) {
    return this.#of(kind)[what];
  }

  describe(kind) {
    return JSON.stringify(this.#of(kind));
  }

  add(kind, what) {
    return this.#of(kind)[what]++;
  }

  /** Resolves with the next `unblock` of the kind. */
  blocked(kind) {
    if (this.#isOpen) return Promise.resolve();
    return new Promise((resolve) => this.#blocked.set(kind, [...(this.#blocked.get(kind) ?? []), resolve]));
  }

  unblock(kind) {
    for (const resolve of this.#blocked.get(kind) ?? []) resolve();
    this.#blocked.delete(kind);
  }

  unblockAll() {
    this.#isOpen = true;
    for (const kind of this.#blocked.keys()) this.unblock(kind);
  }
}

/** The handler of an action, or of a list of them: one per run, the last repeated. */
export function handlerOf(kind, actions, handled) {
  const list = [actions].flat();
  return async (job, {signal, progress}) => {
    const run = handled.add(kind, 'started');
    signal.addEventListener('abort', () => handled.add(kind, 'cancelled'));
    const action = list[Math.min(run, list.length - 1)];
    switch (action.do) {
      case 'succeed':
        return action.result;
      case 'fail':
        throw new Error(action.error);
      case 'fail_permanently':
        throw new PermanentError(action.error);
      case 'snooze':
        throw new Snooze(action.delay, {scope: action.scope});
      case 'echo':
        return job.payload;
      case 'wait_for_cancel':
        return sleep(60_000, undefined, {signal});
      case 'progress':
        await progress(action.fraction, action.message);
        return handled.blocked(kind);
      case 'block':
        return handled.blocked(kind);
      default:
        throw new PermanentError(`unknown action ${action.do}`);
    }
  };
}
