-- A database of version 3, as kgraded left it when it was killed.  Not to be changed: databases like it exist.
PRAGMA journal_mode = WAL;
PRAGMA application_id = 0x6b677264;
PRAGMA user_version = 3;

CREATE TABLE jobs (    seq INTEGER PRIMARY KEY,    id TEXT NOT NULL UNIQUE,    state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),    task TEXT NOT NULL,    device TEXT NOT NULL,    language TEXT NOT NULL,    owner TEXT NOT NULL,    source_hash TEXT NOT NULL,    request_hash TEXT NOT NULL,    idempotency_key BLOB,    created_ms INTEGER NOT NULL,    started_ms INTEGER NOT NULL DEFAULT 0,    ended_ms INTEGER NOT NULL DEFAULT 0,    attempts INTEGER NOT NULL DEFAULT 0,    verdict TEXT NOT NULL DEFAULT '',    code TEXT NOT NULL DEFAULT '',    score REAL NOT NULL DEFAULT 0,    score_low REAL,    score_high REAL,    task_hash TEXT NOT NULL DEFAULT '', deadline_ms INTEGER NOT NULL DEFAULT 0, profile INTEGER NOT NULL DEFAULT 0 CHECK (profile BETWEEN 0 AND 1)) STRICT;
CREATE TABLE sources (seq INTEGER PRIMARY KEY, source BLOB NOT NULL) STRICT;
CREATE TABLE results (seq INTEGER PRIMARY KEY, result TEXT NOT NULL) STRICT;
CREATE TABLE trial (only INTEGER PRIMARY KEY CHECK (only = 1), n INTEGER NOT NULL) STRICT;
INSERT INTO trial VALUES (1, 0);
CREATE UNIQUE INDEX jobs_key ON jobs (owner, idempotency_key)    WHERE idempotency_key IS NOT NULL;
CREATE INDEX jobs_owner ON jobs (owner);
CREATE INDEX jobs_open ON jobs (state) WHERE state < 2;
CREATE INDEX jobs_done ON jobs (task, device, owner, source_hash, seq, id, verdict, score,    score_low, score_high, task_hash, ended_ms, state) WHERE state = 2;

INSERT INTO jobs (seq, id, state, task, device, language, owner, source_hash, request_hash, idempotency_key, created_ms,
    started_ms, ended_ms, attempts, verdict, code, score, score_low, score_high, task_hash, deadline_ms, profile) VALUES
    (1, '018bcfe5687b00000000000000000001', 2, 'vector_add', 'opencl', 'c', 'alice', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
     'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', NULL, 1700000000123, 1700000001000, 1700000005000, 1, 'accepted', '', 1.5, 1.25, 1.75, 'cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc', 0, 0),
    (2, '018bcfe5687b00000000000000000002', 2, 'vector_add', 'opencl', 'c', 'bob', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',
     'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', NULL, 1700000000123, 1700000006000, 1700000007000, 2, 'wrong_answer', 'mismatch', 0.0, NULL, NULL, 'cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc', 0, 0),
    (3, '018bcfe5687b00000000000000000003', 3, 'vector_add', 'opencl', 'c', 'alice', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
     'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', NULL, 1700000000123, 0, 1700000007500, 0, '', 'cancelled', 0.0, NULL, NULL, '', 0, 0),
    (4, '018bcfe5687b00000000000000000004', 1, 'vector_add', 'opencl', 'c', 'alice', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
     'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', NULL, 1700000000123, 1700000008000, 0, 1, '', '', 0.0, NULL, NULL, '', 0, 0),
    (5, '018bcfe5687b00000000000000000005', 0, 'vector_add', 'opencl', 'c', 'bob', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
     'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', X'6b6579', 1700000000123, 0, 0, 0, '', '', 0.0, NULL, NULL, '', 1700000999000, 1);
INSERT INTO sources (seq, source) VALUES
    (1, CAST('int x;' || char(10) AS BLOB)),
    (2, CAST('int x;' || char(10) AS BLOB)),
    (3, CAST('int x;' || char(10) AS BLOB)),
    (4, CAST('int x;' || char(10) AS BLOB)),
    (5, CAST('int x;' || char(10) AS BLOB));
INSERT INTO results (seq, result) VALUES (1, '{"score": 1.5}'), (2, '{"score": 0}');
