-- Names of the positions, letters and codes in stored values, arguments and replies. The script builder (src/script/fold.rs)
-- replaces each name by its value, so none of this is sent to Redis. Rust uses the same names in src/codec.

-- Fields of the hash `state`.
local STATS_FIELD, RULES_FIELD, WATCHED_FIELD, EARLIER_FIELD = 'figures', 'rules', 'watched', 'earlier'
local AUDIT_FIELD, ENDS_LOST_FIELD = 'audit', 'ends'
local CALLS_FIELD = '@' -- where to forget calls next; also starts the name of each slot

-- Positions in the packed stats.
local SCHEMA, CLOCK_MARK, LAST_TOKEN, PAUSED = 1, 2, 3, 4
local SUSPECTS_FRONT, SUSPECTS_BACK, STALE_ENTRIES, BYTES = 5, 6, 7, 8
local SUCCEEDED_BYTES, DEAD_BYTES, CANCELLED_BYTES = 9, 10, 11
local TOTAL_ENQUEUED, TOTAL_SUCCEEDED, TOTAL_DEAD, TOTAL_CANCELLED, TOTAL_RESCUED = 12, 13, 14, 15, 16
local ENQUEUED_MINUTE, ENDED_MINUTE = 17, 20 -- minute, count in it, count in the one before
local WATCHED_UNTIL, WAITERS_UNTIL, SHORTEN_FROM = 23, 24, 25
local READY, LIST_BASE = 26, 36 -- plus the priority
local PARTITIONS, GROW_AT = 46, 47
local STATS_COUNT, STATS_BYTES = 47, 376
local STATS_FORMAT = '<ddddddddddddddddddddddddddddddddddddddddddddddd'
local SCHEMA_VERSION = 1

-- Positions in the packed rules. Age, count and bytes to keep follow each other.
local DEDUP_FOR, DEDUP_MAX, REQUEUE, POISON_AFTER, KEEP_SUCCEEDED = 1, 2, 3, 4, 5
local SUCCEEDED_AGE, DEAD_AGE, CANCELLED_AGE = 6, 9, 12
local RULES_COUNT, RULES_BYTES = 14, 112
local RULES_FORMAT = '<dddddddddddddd'
local REQUEUE_FRONT = 0
local KEEP_WITH_RESULT, KEEP_ALL = 0, 1

-- Letters of opts.
local CUSTOM_ID, ENQUEUED_AT, DUE_AT, PRIORITY, KIND, UNIQUE_KEY = 'n', 'c', 'd', 'p', 'k', 'u'
local RETRY_POLICY, DEADLINE, TIMEOUT, EXPIRES_AT, KEEP_OUTCOME = 'r', 'l', 't', 'e', 'w'
local ATTEMPT, EXPIRIES, GENERATION, HEADERS = 'a', 'x', 'g', 'h'
local PRIORITY_DEFAULT, PRIORITY_LAST = 5, 9
local MAX_ATTEMPTS, DELAY_FIRST, DELAY_MAX, HAS_JITTER = 1, 2, 3, 4 -- positions in a retry policy

-- Owners of leases: a worker process by its boot id, or a single claim by its token.
local BOOT_OWNER, TOKEN_OWNER = 'b:', 't:'

-- Flags in a running job's lease: what the job's opts mean for completing it.
local NO_OPTS, SIMPLE_OPTS, OTHER_OPTS = '-', 's', 'o'
local NOT_ACCEPTED = 'd' -- instead of the time a dispatched job was accepted

-- Arguments.
local CALL_SLOT, CALL_NUMBER = 1, 2 -- first of a script that uses `call`
local AT_MOST_ONCE, DISPATCH = 'm', 'd' -- modes of a claim
local OWN_SPECS = 's' -- instead of the spec of all jobs of an enqueue
local RETRY_BY_POLICY, RETRY_AT, RETRY_NEVER = 'j', 'd', 'p' -- first letter of how to retry

-- Replies.
local STORED_READY, STORED_SCHEDULED, DUPLICATE = 'r', 's', '='
local CLAIM_TOKEN, CLAIM_UNTIL, CLAIM_NEXT = 1, 2, 3 -- positions in the reply to a claim
local CLAIM_PAYLOADS, CLAIM_OPTS = 5, 6 -- plus twice the number of the job
local NOTHING_FOUND, CLAIM_AGAIN, NEXT_DUE = 0, 1, -1 -- in CLAIM_NEXT; less the milliseconds until a job is due
local PAYLOADS_ONLY, PAYLOADS_AND_OPTS, SHARED_OPTS = 1, 2, 3 -- what follows the ids
local JOB_ID, JOB_STATE, JOB_PAYLOAD, JOB_OPTS, JOB_LEASE, JOB_OWNER = 1, 2, 3, 4, 5, 6
local JOB_END, JOB_DUE, JOB_ERROR, JOB_RESULT, JOB_PROGRESS, JOB_STOPPING = 7, 8, 9, 10, 11, 12
local CURRENT_ENTRY, STALE_ENTRY = '+', '-' -- of a ready list, in an audit
local RULES_LOST, STATS_LOST = 'rules', 'figures' -- after the first page of an audit

-- Published lines.
local NOTIFY_WORK, NOTIFY_CANCEL = 'w', 'c'

-- Bytes.
local TAB, PLUS, ZERO = 9, 43, 48
local ANCHOR_BYTES = 65 -- above 64 bytes a value keeps a small hash a hash table
local SUSPECT_LANE = 1099511627776 -- 2^40: the range of scores of one priority in `suspects`
