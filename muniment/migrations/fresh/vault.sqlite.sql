CREATE TABLE muniment_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT muniment_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE vault (
    vault_id TEXT NOT NULL,
    kek_id TEXT NOT NULL,
    next_key_id BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    PRIMARY KEY (vault_id)
);

CREATE TABLE ledger_key (
    ledger TEXT NOT NULL,
    kek_id TEXT NOT NULL,
    wrapped BLOB NOT NULL,
    PRIMARY KEY (ledger)
);

CREATE TABLE subject_key (
    ledger TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    scope_tag BLOB NOT NULL,
    scope_sealed BLOB NOT NULL,
    kek_id TEXT NOT NULL,
    wrapped BLOB NOT NULL,
    PRIMARY KEY (ledger, subject_ref)
);

CREATE UNIQUE INDEX subject_by_scope ON subject_key (ledger, scope_tag);

CREATE TABLE stream_key (
    ledger TEXT NOT NULL,
    key_id BIGINT NOT NULL,
    subject_ref TEXT NOT NULL,
    wrapped BLOB NOT NULL,
    PRIMARY KEY (ledger, key_id)
)
 WITHOUT ROWID;

CREATE INDEX stream_key_by_subject ON stream_key (ledger, subject_ref);

CREATE TABLE destruction (
    ledger TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    stream TEXT NOT NULL,
    key_id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    step TEXT NOT NULL,
    counts TEXT NOT NULL,
    certificate TEXT,
    PRIMARY KEY (ledger, subject_ref, stream)
)
 WITHOUT ROWID;

ANALYZE;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('stream_key', 'stream_key', '1000000 1000000 1');

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('stream_key', 'stream_key_by_subject', '1000000 1000000 100');

ANALYZE sqlite_schema;

CREATE TABLE payload_key (
    ledger TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    stream TEXT NOT NULL,
    version BIGINT NOT NULL,
    key_id BIGINT NOT NULL,
    wrapped BLOB NOT NULL,
    PRIMARY KEY (ledger, subject_ref, stream, version)
)
 WITHOUT ROWID;

CREATE TABLE thinning (
    ledger TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    stream TEXT NOT NULL,
    position BIGINT NOT NULL,
    until_us BIGINT NOT NULL,
    key_id BIGINT NOT NULL,
    versions TEXT NOT NULL,
    step TEXT NOT NULL,
    PRIMARY KEY (ledger, subject_ref, stream, position)
)
 WITHOUT ROWID;

INSERT INTO muniment_version (version_num) VALUES ('0008');
