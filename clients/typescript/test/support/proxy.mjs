// A proxy between client and server that records requests and injects faults.
import * as http from 'node:http';

// Returns a test for requests of a method and a path, in which an asterisk is one part.
function matcher(on) {
  const [method, path] = on.split(' ');
  const parts = path.split('/').map((part) => (part === '*' ? '[^/]+' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')));
  const pattern = new RegExp(`^${parts.join('/')}$`);
  return (request) => request.method === method && pattern.test(request.path);
}

export class Proxy {
  requests = [];
  #faults = [];
  #server;
  #target;
  #agent = new http.Agent({keepAlive: true});

  static async start(target) {
    const proxy = new Proxy();
    proxy.#target = target;
    await proxy.up(0);
    return proxy;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  async up(port = this.port) {
    this.#server = http.createServer((request, response) => void this.#handle(request, response));
    await new Promise((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    this.port = this.#server.address().port;
  }

  /** Refuses connections from now on. */
  async down() {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async stop() {
    await this.down();
    this.#agent.destroy();
  }

  fault({on, times = 1, ...fault}) {
    this.#faults.push({matches: matcher(on), left: times, ...fault});
  }

  matching(on) {
    return this.requests.filter(matcher(on));
  }

  async #handle(request, response) {
    const chunks = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks);
    const seen = {method: request.method, path: request.url.split('?')[0], headers: request.headers, at: performance.now(), body: undefined};
    if (body.length > 0) seen.body = JSON.parse(body);
    this.requests.push(seen);
    const fault = this.#faults.find((fault) => fault.left > 0 && fault.matches(seen));
    if (fault) fault.left--;
    if (fault?.do === 'refuse') return request.socket.destroy();
    if (fault?.do === 'reply') {
      const headers = {'content-type': 'application/problem+json', ...(fault.retry_after && {'retry-after': String(fault.retry_after)})};
      response.writeHead(fault.status, headers);
      return response.end(JSON.stringify({status: fault.status, code: fault.code, detail: `injected ${fault.code}`, help: 'none', request_id: 'proxy'}));
    }
    this.#forward(request, response, body, fault?.do === 'drop_reply');
  }

  #forward(request, response, body, isDropped) {
    const {hostname, port} = new URL(this.#target);
    const headers = {...request.headers, host: `${hostname}:${port}`};
    const onward = http.request({host: hostname, port, method: request.method, path: request.url, headers, agent: this.#agent});
    onward.on('error', () => request.socket.destroy());
    response.on('close', () => onward.destroy());
    onward.on('response', async (reply) => {
      const parts = [];
      try {
        for await (const part of reply) parts.push(part);
      } catch {
        return request.socket.destroy();
      }
      if (isDropped) return request.socket.destroy();
      const whole = Buffer.concat(parts);
      const {'transfer-encoding': _, ...kept} = reply.headers;
      response.writeHead(reply.statusCode, {...kept, 'content-length': whole.length});
      response.end(whole);
    });
    onward.end(body);
  }
}
