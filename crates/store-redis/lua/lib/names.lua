-- Names of the positions, letters and codes in stored values, arguments and replies. The script builder (src/script/fold.rs)
-- replaces each name by its value, so none of this is sent to Redis. Rust uses the same names in src/codec.

-- Fields of the hash `state`.
local STATS_FIELD, RULES_FIELD, WATCHED_FIELD, EARLIER_FIELD, TOKEN_FIELD = 'figures', 'rules', 'watched', 'earlier', 'token'
local AUDIT_FIELD, ENDS_LOST_FIELD = 'audit', 'ends'
local SCHEDULES_FIELD = 'schedules' -- there if the queue has schedules
local RATE_NEXT_FIELD = 'rate' -- when the next claim would be on schedule (us); missing is 0
local GROUPS_FIELD = 'groups' -- numbers of all groups together; there if the queue has, or had, jobs with a group
local HISTORY_FIELD, FAILED_FIELD = 'history', 'failed' -- the minute that is not over; attempts failed since the queue was created
local REST_FIELD = 'rest' -- until when the queue rests (ms)
local CALLS_FIELD = '@' -- where to forget calls next; also starts the name of each slot

-- Positions in the packed stats. The first ones are all that an enqueue needs, besides the ready jobs of its priority.
local SCHEMA, CLOCK_MARK, LAST_TOKEN, PAUSED = 1, 2, 3, 4
local FULL_FROM, PRUNE_FROM, STALE_ENTRIES, BYTES = 5, 6, 7, 8 -- calls need the full scripts from FULL_FROM on (ms)
local TOTAL_ENQUEUED, TOTAL_SUCCEEDED = 9, 10
local ENQUEUED_MINUTE, ENDED_MINUTE = 11, 18 -- minute, count in it, count in the one before
local WATCHED_UNTIL, WAITERS_UNTIL, PARTITIONS, GROW_AT = 14, 15, 16, 17
local READY, LIST_BASE = 21, 31 -- plus the priority
local SHORTEN_FROM, SUCCEEDED_BYTES, DEAD_BYTES, CANCELLED_BYTES = 41, 42, 43, 44
local TOTAL_DEAD, TOTAL_CANCELLED, TOTAL_RESCUED = 45, 46, 47
local HOT_COUNT, HOT_BYTES, HOT_FORMAT = 17, 136, '<ddddddddddddddddd'
local STATS_COUNT, STATS_BYTES = 47, 376
local STATS_FORMAT = '<ddddddddddddddddddddddddddddddddddddddddddddddd'
local SCHEMA_VERSION = 2
local GROUPS_SCHEMA = 3 -- of a queue that uses groups: earlier versions refuse it, and so do the fast scripts
local NEVER = 9007199254740992 -- later than any time

-- Positions in the packed rules. Age, count and bytes to keep follow each other.
local DEDUP_FOR, DEDUP_MAX, REQUEUE, POISON_AFTER, KEEP_SUCCEEDED = 1, 2, 3, 4, 5
local SUCCEEDED_AGE, DEAD_AGE, CANCELLED_AGE = 6, 9, 12
local MAX_RUNNING, RATE_COUNT, RATE_PERIOD, BURST = 15, 16, 17, 18 -- the period is in us
local GROUP_MAX_RUNNING, GROUP_RATE_COUNT, GROUP_RATE_PERIOD, GROUP_BURST, GROUP_SLOT = 19, 20, 21, 22, 23
local RULES_COUNT, RULES_BYTES = 23, 184
local RULES_FORMAT = '<ddddddddddddddddddddddd'
-- Without settings of groups, and without limits, only the rules before them are stored, as stores did that have none.
local UNGROUPED_COUNT, UNGROUPED_BYTES = 18, 144
local LIMITS_AT, GROUP_LIMITS_AT = 113, 145 -- the bytes of MAX_RUNNING and of GROUP_MAX_RUNNING
local UNGROUPED_FORMAT = '<dddddddddddddddddd'
local UNLIMITED_COUNT, UNLIMITED_BYTES = 14, 112
local UNLIMITED_FORMAT = '<dddddddddddddd'
local REQUEUE_FRONT = 0
local SLOT_RUN, SLOT_SUCCESS = 0, 2 -- how long a job holds a slot of its group; between them: until it ends

-- Positions in the numbers of all groups. Positions in lines grow from the middle in both directions.
local LIMITS_VERSION, LIMITS_CHANGED, IS_STALE, HAS_RECHECK = 1, 2, 3, 4 -- when limits or the clock changed (us); what is to be placed again
local LINE_FRONT, LINE_BACK, LAST_TURN, UNGROUPED_TURN, GROUPED_RUNNING = 5, 6, 7, 8, 9
local GROUPED_READY = 10 -- plus the priority
local GROUP_NUMBERS = 19
local GROUP_NUMBERS_PATTERN = '^(%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%d+)$'
local LINE_MIDDLE = 4503599627370496
local NOWHERE, RESTING = '-', 'r' -- where a group is, if not in `turns`
local DEFAULT_LIMIT = '-' -- instead of a limit of a single group
local GROUPS_PER_CALL = 200 -- that one call moves, or examines in vain
local BURST_MAX = 3153600000000000 -- how far ahead of now a burst may move the number of a rate (us)
local KEEP_WITH_RESULT, KEEP_ALL = 0, 1

-- Letters of opts.
local CUSTOM_ID, ENQUEUED_AT, DUE_AT, PRIORITY, KIND, UNIQUE_KEY = 'n', 'c', 'd', 'p', 'k', 'u'
local RETRY_POLICY, DEADLINE, TIMEOUT, EXPIRES_AT, KEEP_OUTCOME = 'r', 'l', 't', 'e', 'w'
local ATTEMPT, EXPIRIES, GENERATION, HEADERS, IS_JSON = 'a', 'x', 'g', 'h', 'j'
local UNTIL_START, UNIQUE_FOR = 'b', 'f' -- how long the unique key is held: until the first claim, or at least so long (ms)
local ON_DUPLICATE, POSTPONE_MAX, ONLY_EXISTING = 'o', 'm', 'i' -- only in the spec of an enqueue
local REPLACE, POSTPONE = 'r', 'p' -- in ON_DUPLICATE
local IS_SCHEDULED = 's' -- a schedule enqueued the job
local GROUP, IN_LINE = 'q', 'z' -- the group of a job, and its place in the line while it is ready: lane, position, priority, 1 if suspect
local PRIORITY_DEFAULT, PRIORITY_LAST = 5, 9
local MAX_ATTEMPTS, DELAY_FIRST, DELAY_MAX, HAS_JITTER = 1, 2, 3, 4 -- positions in a retry policy

-- Owners of leases: a worker process by its boot id, or a single claim by its token.
local BOOT_OWNER, TOKEN_OWNER = 'b:', 't:'

-- Values of jobs: opts, an empty line, payload. A longer value has no opts, nor one that starts with NEEDS_CARE instead
-- of the line feed: its opts are in the hash `opts`, and only the full scripts may claim it.
local INLINE_MAX = 8192
local LINE_FEED, NEEDS_CARE = 10, 42

-- Flags in a running job's lease: whether its value is all there is to remove when it is completed.
local VALUE_ONLY, MORE = '-', 'o'
local NOT_ACCEPTED = 'd' -- instead of the time a dispatched job was accepted

local ATTEMPT_FAILED, ATTEMPT_EXPIRED = 'f', 'x' -- how an attempt on record ended

-- Arguments.
local CALL_SLOT, CALL_NUMBER = 1, 2 -- first of a script that uses `call`
local AFTER, EARLIEST, SPAN, KNOWN_PARTITIONS, SPEC, FIRST_JOB = 3, 4, 5, 6, 7, 8 -- of an enqueue
local AT_MOST_ONCE, DISPATCH = 'm', 'd' -- modes of a claim
local SCOPE_GROUP, SCOPE_QUEUE = 'group', 'queue' -- of a snooze
local OWN_SPECS = 's' -- instead of the spec of all jobs of an enqueue
local RETRY_BY_POLICY, RETRY_AT, RETRY_NEVER = 'j', 'd', 'p' -- first letter of how to retry

-- Replies.
local STORED_READY, STORED_SCHEDULED, STORED_PENDING, DUPLICATE, OVERLAP = 'r', 's', 'p', '=', '!'
local REPLACED, POSTPONED = '~', '>'
local NOT_FOUND = '' -- for a job that may only change an existing one
local CLAIM_TOKEN, CLAIM_UNTIL, CLAIM_NEXT = 1, 2, 3 -- positions in the reply to a claim
local CLAIM_VALUES, CLAIM_OPTS = 5, 6 -- plus twice the number of the job
local NOTHING_FOUND, CLAIM_AGAIN, NEXT_DUE = 0, 1, -1 -- in CLAIM_NEXT; less the milliseconds until a job is due
local VALUES_ONLY, VALUES_AND_OPTS = 1, 2 -- what follows the ids
local JOB_ID, JOB_STATE, JOB_PAYLOAD, JOB_OPTS, JOB_LEASE, JOB_OWNER = 1, 2, 3, 4, 5, 6
local JOB_END, JOB_DUE, JOB_ERROR, JOB_RESULT, JOB_PROGRESS, JOB_STOPPING = 7, 8, 9, 10, 11, 12
local JOB_LEASE_UNTIL = 13
local CURRENT_ENTRY, STALE_ENTRY = '+', '-' -- of a ready list, in an audit
local RULES_LOST, STATS_LOST = 'rules', 'figures' -- after the first page of an audit

-- Published lines.
local NOTIFY_WORK, NOTIFY_CANCEL = 'w', 'c'

-- Limits.
local CLAIM_MAX, CLAIM_BYTES_MAX = 100, 4194304 -- jobs and bytes of payload in a claim
local CLAIM_TOMBSTONE = 60000 -- how long a closed claim is remembered (ms)
local ATTEMPTS_MAX, ERROR_GROUPS_MAX = 10, 200 -- records of attempts of a job, groups of errors
local AMENDMENT_TOMBSTONE = 60000 -- how long an enqueue that changed another job is remembered (ms)
local CLOCK_SLACK_US = 5000000 -- a clock further behind the mark was set back
local ULID_DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
local ULID_TRUST = 1000 -- how far the time in an id may be off (ms)
local WAKE_MAX = 500

-- Bytes.
local TAB, SPACE, PLUS, ZERO = 9, 32, 43, 48
local HELD_KEY = '\001' -- before a unique key that is the name of a tombstone; ids have no control characters
local ANCHOR_BYTES = 65 -- above 64 bytes a value keeps a small hash a hash table
local LONG_MEMBER = '~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~' -- makes a small sorted set a skip list for as long as it is not empty
local PENDING_SCORE = 'inf' -- of a pending job in `scheduled`
local SUSPECT_LANE = 1099511627776 -- 2^40: the range of scores of one priority in `suspects`
