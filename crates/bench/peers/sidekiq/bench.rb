# The benchmark on Sidekiq: its own command at its default concurrency.
#
# Handlers write to a ledger, a file of fixed records (the time in the payload, the time the handler started),
# which the program that started the worker reads. The contract is in the README in `crates/bench/peers`.

require 'json'
require 'sidekiq'
require 'tempfile'

BULK = 100
GAP_S = 0.01
GLANCE_S = 0.001
RECORD = 16
# Silences a deprecation warning on every call.
Redis.silence_deprecations = true
ENV['BENCH_URL'] ||= ARGV[ARGV.index('--url') + 1]

Sidekiq.configure_client { |config| config.redis = { url: ENV['BENCH_URL'], size: 1 } }
Sidekiq.configure_server do |config|
  config.redis = { url: ENV['BENCH_URL'] }
  config.logger.level = Logger::WARN
end

def now_ns
  Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
end

class Noop
  include Sidekiq::Worker

  def perform(data)
    @@ledger ||= File.open(ENV.fetch('BENCH_LEDGER'), File::WRONLY | File::APPEND)
    @@ledger.syswrite([data[0, 20].to_i(10), now_ns].pack('Q<Q<'))
  end
end

class Bench
  def initialize(words)
    @scenario = words[0]
    option = ->(name) { Integer(words[words.index(name) + 1], 10) }
    @jobs = option.call('--jobs')
    @payload = option.call('--payload')
    @concurrency = option.call('--concurrency')
  end

  def run
    case @scenario
    when 'enqueue-one' then enqueue_one
    when 'enqueue-bulk' then enqueue_bulk
    when 'process' then process
    when 'pickup' then pickup
    else abort "no such scenario: #{@scenario}"
    end
  end

  private

  def stamped
    format('%020d ', now_ns).ljust(@payload, 'x')
  end

  def tell(answer)
    puts JSON.generate(answer)
  end

  def tell_rate(nanoseconds)
    seconds = nanoseconds / 1e9
    tell(jobs: @jobs, seconds: seconds, per_s: @jobs / seconds)
  end

  def enqueue_one
    began = now_ns
    @jobs.times { Noop.perform_async(stamped) }
    tell_rate(now_ns - began)
  end

  def enqueue_bulk
    began = now_ns
    (0...@jobs).each_slice(BULK) do |slice|
      Sidekiq::Client.push_bulk('class' => Noop, 'args' => slice.map { [stamped] })
    end
    tell_rate(now_ns - began)
  end

  def with_worker
    ledger = Tempfile.new('windlass-bench-')
    command = ['sidekiq', '--require', File.expand_path(__FILE__), '--concurrency', @concurrency.to_s]
    worker = Process.spawn({ 'BENCH_LEDGER' => ledger.path }, *command, out: :err)
    yield ledger.path
    records = File.binread(ledger.path).unpack('Q<*').each_slice(2).to_a
    Process.kill('TERM', worker)
    Process.wait(worker)
    records
  end

  def await_jobs(path, count)
    sleep GLANCE_S while File.size(path) < count * RECORD
  end

  def process
    moments = with_worker { |path| await_jobs(path, @jobs) }.map(&:last)
    tell_rate(moments.max - moments.min)
  end

  def pickup
    records = with_worker do |path|
      # The first job waits for the worker to boot, so it does not count.
      (@jobs + 1).times do |sent|
        sleep GAP_S
        Noop.perform_async(stamped)
        await_jobs(path, sent + 1)
      end
    end
    waited = records.drop(1).map { |sent, began| (began - sent) / 1e6 }.sort
    at = ->(quantile) { waited[(quantile * waited.size).ceil - 1] }
    tell(p50_ms: at.call(0.5), p99_ms: at.call(0.99))
  end
end

# The worker requires this file too, to know the job.
Bench.new(ARGV).run if $PROGRAM_NAME == __FILE__
