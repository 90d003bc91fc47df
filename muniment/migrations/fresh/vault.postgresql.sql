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
    wrapped BYTEA NOT NULL,
    PRIMARY KEY (ledger)
);

CREATE TABLE subject_key (
    ledger TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    scope_tag BYTEA NOT NULL,
    scope_sealed BYTEA NOT NULL,
    kek_id TEXT NOT NULL,
    wrapped BYTEA NOT NULL,
    PRIMARY KEY (ledger, subject_ref)
);

CREATE UNIQUE INDEX subject_by_scope ON subject_key (ledger, scope_tag);

CREATE TABLE stream_key (
    ledger TEXT NOT NULL,
    key_id BIGINT NOT NULL,
    subject_ref TEXT NOT NULL,
    wrapped BYTEA NOT NULL,
    PRIMARY KEY (ledger, key_id)
);

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
);

ALTER TABLE destruction ENABLE ROW LEVEL SECURITY;

ALTER TABLE destruction FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON destruction USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE ledger_key ENABLE ROW LEVEL SECURITY;

ALTER TABLE ledger_key FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON ledger_key USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE stream_key ENABLE ROW LEVEL SECURITY;

ALTER TABLE stream_key FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON stream_key USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE subject_key ENABLE ROW LEVEL SECURITY;

ALTER TABLE subject_key FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON subject_key USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

CREATE POLICY rotation ON ledger_key FOR SELECT USING (current_setting('muniment.ledger', true) = '*');

CREATE POLICY rotation_writes ON ledger_key FOR UPDATE USING (current_setting('muniment.ledger', true) = '*') WITH CHECK (current_setting('muniment.ledger', true) = '*');

CREATE POLICY rotation ON subject_key FOR SELECT USING (current_setting('muniment.ledger', true) = '*');

CREATE POLICY rotation_writes ON subject_key FOR UPDATE USING (current_setting('muniment.ledger', true) = '*') WITH CHECK (current_setting('muniment.ledger', true) = '*');

CREATE TABLE payload_key (
    ledger TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    stream TEXT NOT NULL,
    version BIGINT NOT NULL,
    key_id BIGINT NOT NULL,
    wrapped BYTEA NOT NULL,
    PRIMARY KEY (ledger, subject_ref, stream, version)
);

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
);

ALTER TABLE payload_key ENABLE ROW LEVEL SECURITY;

ALTER TABLE payload_key FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON payload_key USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE thinning ENABLE ROW LEVEL SECURITY;

ALTER TABLE thinning FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON thinning USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

INSERT INTO muniment_version (version_num) VALUES ('0008');
