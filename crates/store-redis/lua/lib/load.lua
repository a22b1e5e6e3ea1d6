-- Loads the stats and the rules of the queue.
local stored = redis.call('HMGET', k_state, STATS_FIELD, RULES_FIELD, SCHEDULES_FIELD, GROUPS_FIELD, REST_FIELD)
