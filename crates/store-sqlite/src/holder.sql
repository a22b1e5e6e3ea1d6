
-- The jobs that hold a slot of their group, to name them: running ones, and in ordered lanes (lane 0) those that wait or are dead.
CREATE INDEX job_holder ON job (queue, group_name, state, id) WHERE group_name IS NOT NULL AND (state = 2 OR lane = 0);
