-- results.db as version 1 of the schema made it, with one run of three iterations (sqlite3 .dump).
PRAGMA application_id = 1398227536;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE attempt(  -- one start of the trainer; columns as in run
  run_id TEXT NOT NULL, attempt INTEGER NOT NULL,
  status TEXT,       -- NULL when only its run log is known
  host TEXT, pid INTEGER, device TEXT, git_commit TEXT, started REAL, heartbeat REAL, finished REAL, message TEXT,
  PRIMARY KEY(run_id, attempt)
) WITHOUT ROWID;
INSERT INTO "attempt" VALUES('d3b3d64313395237',1,'finished','somewhere',7,'cpu, oneDNN 2.6.3, avx2','79fd6f5',1.79526335952713155747e+09,1.7952633596450309753e+09,1.79526335964153742784e+09,NULL);
CREATE TABLE evaluation(
  run_id TEXT NOT NULL,
  iteration INTEGER NOT NULL,  -- after so many iterations
  level_set TEXT NOT NULL,     -- which levels
  transitions REAL,  -- transitions; environment steps trained so far
  solve_rate REAL,  -- ; mean over levels of solved / attempts
  solve_rate_se REAL,  -- ; its standard error (NaN with one attempt a level)
  episodes REAL,  -- episodes; attempts
  episode_return REAL,  -- ; mean
  episode_length REAL,  -- steps; mean
  PRIMARY KEY(run_id, iteration, level_set)
) WITHOUT ROWID;
INSERT INTO "evaluation" VALUES('d3b3d64313395237',0,'train',0.0,0.0,NULL,4.0,-0.130026416,211.5);
INSERT INTO "evaluation" VALUES('d3b3d64313395237',3,'train',192.0,0.0,NULL,4.0,-0.215578072,216.0);
CREATE TABLE iteration_row(
  row INTEGER PRIMARY KEY  -- run.key << 32 | iteration
  , transitions REAL  -- transitions; environment steps of all worlds since the start
  , kl REAL  -- nat; exact KL(behavior || updated), mean over the rollout's states
  , kl_reverse REAL  -- nat; exact KL(updated || behavior)
  , kl_k1 REAL  -- nat; estimator k1 = -log ratio
  , kl_k3 REAL  -- nat; estimator k3 = ratio - 1 - log ratio
  , ddr REAL  -- transitions/nat; transitions of the iteration / max(kl, 1e-12)
  , grad_norm_actor REAL  -- ; gradient norm before clipping, mean over minibatches
  , grad_norm_critic REAL  -- ; the same of the critic
  , grad_norm_actor_max REAL  -- ; largest of the iteration
  , grad_norm_critic_max REAL  -- ; largest of the iteration
  , grad_clipped_actor REAL  -- ; fraction of minibatches whose gradient was clipped
  , grad_clipped_critic REAL  -- ; the same of the critic
  , update_norm_actor REAL  -- ; L2 distance of the actor's weights over the iteration
  , update_norm_critic REAL  -- ; the same of the critic
  , clip_fraction REAL  -- ; samples with the ratio outside 1 +- epsilon
  , entropy REAL  -- nat; policy entropy, mean over minibatches
  , explained_variance REAL  -- ; 1 - Var(target - value) / Var(target)
  , policy_loss REAL  -- ; mean over minibatches
  , value_loss REAL  -- ; mean over minibatches
  , advantage_mean REAL  -- ; before standardization
  , advantage_sd REAL  -- ; before standardization
  , learning_rate REAL  -- ; of the iteration
  , solve_rate REAL  -- ; finished training episodes that were solved, mean over levels
  , episodes REAL  -- episodes; finished in the iteration
  , episode_return REAL  -- ; mean of finished episodes
  , episode_length REAL  -- steps; mean of finished episodes
  , steps_per_second REAL  -- transitions/s; rollout and update
  , seconds_rollout REAL  -- s; policy and simulator
  , seconds_update REAL  -- s; minibatches
  , seconds_other REAL  -- s; metrics, advantages, bookkeeping
  , wall_seconds REAL  -- s; training time since the run's start, all attempts
);
INSERT INTO "iteration_row" VALUES(4294967297,64.0,3.74680855e-05,3.74714722e-05,0.000658288598,4.93140435e-05,1708120.37,1.20955736,0.435250536,1.54300248,0.712362547,1.0,0.5,0.0171292806,0.00832888915,0.0,5.78065496,0.892143307,-0.000800884212,0.00288594656,0.0149752045,0.0557569418,0.0003,NULL,0.0,NULL,NULL,75452.8349,0.000610018,0.000155229,8.29650007e-05,0.0885516);
INSERT INTO "iteration_row" VALUES(4294967298,128.0,1.82069111e-05,1.82196941e-05,-0.00189246237,2.24256139e-05,3515148.71,0.918376325,0.168212797,1.02293809,0.198563124,1.0,0.0,0.0112258155,0.00921772533,0.0,5.78057453,0.914171173,5.12037805e-05,0.00126072085,-0.0223104177,0.0490044833,0.0003,NULL,0.0,NULL,NULL,73823.1267,0.000702701,9.08689999e-05,7.33670004e-05,0.089440037);
INSERT INTO "iteration_row" VALUES(4294967299,192.0,1.43256494e-05,1.43281108e-05,-0.00049482286,1.59026936e-05,4467511.25,0.98687708,0.171980586,1.11657834,0.304375063,1.0,0.0,0.00905618233,0.00448736417,0.0,5.78052481,0.943416968,-0.000389715671,0.00125235406,0.00538060881,0.0452829758,0.0003,NULL,0.0,NULL,NULL,55784.6017,0.000803829,0.000269062,7.43789997e-05,0.090604038);
CREATE TABLE run(
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,   -- hash of the configuration; the folder runs/<id>
  seed INTEGER,
  config TEXT,               -- JSON: json_extract(config, '$.ppo.com'); NULL when config.ini cannot be read
  status TEXT NOT NULL DEFAULT 'pending',  -- pending running finished failed stopped diverged lost
  attempt INTEGER NOT NULL DEFAULT 0,      -- the latest; 0 = never started
  host TEXT, pid INTEGER, device TEXT, git_commit TEXT,
  started REAL, heartbeat REAL, finished REAL,   -- unix time; of the latest attempt
  iteration INTEGER, iterations INTEGER,         -- done, planned
  transitions INTEGER, transitions_total INTEGER,
  steps_per_second REAL, solve_rate REAL,        -- latest
  train_seconds REAL,                            -- of all attempts
  message TEXT                                   -- the last error
);
INSERT INTO "run" VALUES(1,'d3b3d64313395237',0,'{"env":{"task":"loco512","num":8,"morphologies":"public","difficulty":"all","level_count":4,"levels":"","frame_skip":2,"max_steps":256,"dense_reward":0.2,"pad_writes_zero":false},"train":{"seed":0,"total_steps":192,"device":"auto","precision":"float32","threads":1},"algo":{"name":"ppo"},"ppo":{"num_steps":8,"num_minibatches":2,"epochs":1,"epsilon":0.2,"com":64,"ewma_rule":"plain","learning_rate":0.0003,"lr_schedule":"constant","gamma":0.995,"gae_lambda":0.9,"entropy_coef":0.01,"value_coef":0.5,"clip_value":true,"max_grad_norm":0.5,"normalize_advantage":"batch","minibatch_by":"transitions","adam_beta1":0.9,"adam_beta2":0.999,"adam_epsilon":1e-5},"net":{"width":8,"depth":1,"activation":"tanh"},"eval":{"count":1,"episodes":4},"metrics":{"every":1,"states":65536},"checkpoint":{"every":60,"keep":2}}','finished',1,'somewhere',7,'cpu, oneDNN 2.6.3, avx2','79fd6f5',1.79526335952713155747e+09,1.7952633596450309753e+09,1.79526335964153742784e+09,3,3,192,192,55784.6017154416,0.0,1.07135704000029363669e-01,NULL);
CREATE TABLE run_import(  -- what the importer saw last, to pass over runs where nothing can have changed
  run INTEGER PRIMARY KEY,     -- run.key
  folder_time INTEGER NOT NULL,  -- of runs/<id>, nanoseconds; 0 = look again
  mark INTEGER NOT NULL        -- CRC-32 of the state
);
INSERT INTO "run_import" VALUES(1,0,3320886622);
CREATE TABLE run_log(  -- how far each run log is imported; committed together with its rows
  run_id TEXT NOT NULL, attempt INTEGER NOT NULL, kind TEXT NOT NULL,
  file TEXT NOT NULL,          -- below the workspace
  offset INTEGER NOT NULL,     -- bytes
  mark INTEGER NOT NULL,       -- CRC-32 of the bytes before the offset: tells growth from replacement
  damage INTEGER NOT NULL,     -- lines that could not be read
  first_damage INTEGER,        -- the first one's number
  PRIMARY KEY(run_id, attempt, kind)
) WITHOUT ROWID;
INSERT INTO "run_log" VALUES('d3b3d64313395237',1,'eval','runs/d3b3d64313395237/eval.1.tsv',261,126961384,0,NULL);
INSERT INTO "run_log" VALUES('d3b3d64313395237',1,'stats','runs/d3b3d64313395237/stats.1.tsv',1541,846073101,0,NULL);
CREATE TABLE schema_version(  -- one row for each version this file has had
  version INTEGER PRIMARY KEY,
  program TEXT,     -- version and commit of the program that made it so
  applied REAL      -- unix time
);
INSERT INTO "schema_version" VALUES(1,'0.1.0 79fd6f5',1795263359.69);
CREATE TABLE sweep(
  name TEXT PRIMARY KEY,
  ini TEXT,         -- the experiment file
  created REAL      -- unix time
) WITHOUT ROWID;
CREATE TABLE sweep_run(  -- the members of a sweep: its manifest; a run may belong to several
  sweep TEXT NOT NULL, idx INTEGER NOT NULL, run_id TEXT NOT NULL,
  PRIMARY KEY(sweep, idx)
) WITHOUT ROWID;
CREATE INDEX sweep_run_by_run ON sweep_run(run_id);
CREATE VIEW iteration AS  -- one row a run and iteration; units: .schema iteration_row
SELECT run.id AS run_id, data.row & 4294967295 AS iteration, data.transitions AS transitions, data.kl AS kl, data.kl_reverse AS kl_reverse, data.kl_k1 AS kl_k1, data.kl_k3 AS kl_k3, data.ddr AS ddr, data.grad_norm_actor AS grad_norm_actor, data.grad_norm_critic AS grad_norm_critic, data.grad_norm_actor_max AS grad_norm_actor_max, data.grad_norm_critic_max AS grad_norm_critic_max, data.grad_clipped_actor AS grad_clipped_actor, data.grad_clipped_critic AS grad_clipped_critic, data.update_norm_actor AS update_norm_actor, data.update_norm_critic AS update_norm_critic, data.clip_fraction AS clip_fraction, data.entropy AS entropy, data.explained_variance AS explained_variance, data.policy_loss AS policy_loss, data.value_loss AS value_loss, data.advantage_mean AS advantage_mean, data.advantage_sd AS advantage_sd, data.learning_rate AS learning_rate, data.solve_rate AS solve_rate, data.episodes AS episodes, data.episode_return AS episode_return, data.episode_length AS episode_length, data.steps_per_second AS steps_per_second, data.seconds_rollout AS seconds_rollout, data.seconds_update AS seconds_update, data.seconds_other AS seconds_other, data.wall_seconds AS wall_seconds
FROM run CROSS JOIN iteration_row AS data ON data.row BETWEEN run.key << 32 AND run.key << 32 | 4294967295;
CREATE VIEW run_ddr AS
SELECT run_id, count(kl) AS iterations, sum(kl) AS kl_sum,
  sum(CASE WHEN kl IS NOT NULL THEN transitions / iteration END) / sum(max(kl, 1e-12)) AS ddr
FROM iteration WHERE iteration > 0 GROUP BY run_id;
CREATE VIEW best_solve_rate AS  -- of the evaluations, by level set, and where it was reached
SELECT e.run_id, e.level_set, max(e.solve_rate) AS solve_rate, e.iteration, e.transitions,
  (SELECT ddr FROM run_ddr WHERE run_ddr.run_id = e.run_id) AS ddr
FROM evaluation AS e WHERE e.solve_rate IS NOT NULL GROUP BY e.run_id, e.level_set;
CREATE VIEW run_summary AS
SELECT run.id AS run_id, run.status, run.seed,
  (SELECT group_concat(sweep, ' ') FROM (SELECT DISTINCT sweep FROM sweep_run WHERE run_id = run.id)) AS sweeps,
  json_extract(config, '$.env.task') AS task, json_extract(config, '$.algo.name') AS algorithm,
  run.iteration, run.iterations, run.transitions,
  (SELECT max(solve_rate) FROM evaluation WHERE run_id = run.id) AS best_solve_rate,
  (SELECT solve_rate FROM evaluation WHERE run_id = run.id ORDER BY iteration DESC LIMIT 1) AS last_solve_rate,
  (SELECT ddr FROM run_ddr WHERE run_id = run.id) AS ddr,
  run.steps_per_second, run.train_seconds, run.attempt, run.host, run.device, run.git_commit, run.message
FROM run;
COMMIT;
