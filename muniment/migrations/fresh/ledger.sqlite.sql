CREATE TABLE muniment_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT muniment_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE ledger (
    ledger TEXT NOT NULL,
    created_at_us BIGINT NOT NULL,
    vault_id TEXT NOT NULL,
    horizon_us BIGINT NOT NULL,
    key_mark BIGINT NOT NULL,
    PRIMARY KEY (ledger)
)
 WITHOUT ROWID;

CREATE TABLE ledger_transaction (
    ledger TEXT NOT NULL,
    tx_id BIGINT NOT NULL,
    recorded_at_us BIGINT NOT NULL,
    first_position BIGINT NOT NULL,
    last_position BIGINT NOT NULL,
    action TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    idempotency_tag BLOB,
    request_tag BLOB,
    header BLOB NOT NULL,
    PRIMARY KEY (ledger, tx_id)
)
 WITHOUT ROWID;

CREATE UNIQUE INDEX transaction_by_time ON ledger_transaction (ledger, recorded_at_us);

CREATE UNIQUE INDEX transaction_by_key ON ledger_transaction (ledger, idempotency_tag) WHERE idempotency_tag IS NOT NULL;

CREATE TABLE ledger_event (
    ledger TEXT NOT NULL,
    position BIGINT NOT NULL,
    tx_id BIGINT NOT NULL,
    recorded_at_us BIGINT NOT NULL,
    stream TEXT NOT NULL,
    version BIGINT NOT NULL,
    topic TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    key_id BIGINT NOT NULL,
    state BLOB NOT NULL,
    leaf BLOB NOT NULL,
    PRIMARY KEY (ledger, position)
)
 WITHOUT ROWID;

CREATE UNIQUE INDEX event_by_stream ON ledger_event (ledger, stream, version);

CREATE INDEX event_by_subject ON ledger_event (ledger, subject_ref, position);

CREATE TABLE projection_checkpoint (
    ledger TEXT NOT NULL,
    projection TEXT NOT NULL,
    position BIGINT NOT NULL,
    PRIMARY KEY (ledger, projection)
)
 WITHOUT ROWID;

CREATE TABLE merkle_tile (
    ledger TEXT NOT NULL,
    level BIGINT NOT NULL,
    number BIGINT NOT NULL,
    root BLOB NOT NULL,
    hashes BLOB NOT NULL,
    PRIMARY KEY (ledger, level, number)
)
 WITHOUT ROWID;

CREATE TABLE tree_head (
    ledger TEXT NOT NULL,
    size BIGINT NOT NULL,
    made_at_us BIGINT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (ledger, size)
)
 WITHOUT ROWID;

CREATE TABLE belief (
    ledger TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    recorded_from_us BIGINT NOT NULL,
    valid_from_us BIGINT NOT NULL,
    recorded_to_us BIGINT NOT NULL,
    valid_to_us BIGINT NOT NULL,
    subject_ref TEXT NOT NULL,
    version BIGINT NOT NULL,
    position BIGINT NOT NULL,
    category TEXT,
    attribute TEXT,
    status TEXT NOT NULL,
    confidence DOUBLE NOT NULL,
    importance DOUBLE NOT NULL,
    core BOOLEAN NOT NULL,
    expires_at_us BIGINT,
    content_tag BLOB,
    PRIMARY KEY (ledger, fact_id, recorded_from_us, valid_from_us),
    CONSTRAINT belief_recorded CHECK (recorded_from_us < recorded_to_us),
    CONSTRAINT belief_valid CHECK (valid_from_us < valid_to_us)
);

CREATE INDEX belief_by_subject ON belief (ledger, subject_ref, recorded_to_us, recorded_from_us, valid_from_us, valid_to_us);

CREATE INDEX belief_by_content ON belief (ledger, subject_ref, content_tag, recorded_to_us) WHERE recorded_to_us = 9223372036854775807;

ANALYZE;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('ledger_transaction', 'ledger_transaction', '1000000 1000000 1');

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('ledger_transaction', 'transaction_by_time', '1000000 1000000 1');

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('ledger_transaction', 'transaction_by_key', '1000000 1000000 1');

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('ledger_event', 'ledger_event', '1000000 1000000 1');

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('ledger_event', 'event_by_stream', '1000000 1000000 10 1');

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('ledger_event', 'event_by_subject', '1000000 1000000 1000 1');

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('belief', 'sqlite_autoindex_belief_1', '2000000 2000000 20 2 1');

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('belief', 'belief_by_subject', '2000000 2000000 2000 10 2 1 1');

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('belief', 'belief_by_content', '1000000 1000000 1000 1 1');

ANALYZE sqlite_schema;

CREATE TABLE version_vector (
    ledger TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    model TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    version BIGINT NOT NULL,
    position BIGINT NOT NULL,
    key_id BIGINT NOT NULL,
    text_tag BLOB NOT NULL,
    attempts BIGINT NOT NULL,
    dimensions BIGINT NOT NULL,
    state BLOB,
    PRIMARY KEY (ledger, subject_ref, model, fact_id, version)
);

CREATE INDEX vector_by_text ON version_vector (ledger, model, text_tag) WHERE state IS NOT NULL;

CREATE INDEX vector_pending ON version_vector (ledger, model, attempts) WHERE state IS NULL;

CREATE TABLE vector_generation (
    ledger TEXT NOT NULL,
    number BIGINT NOT NULL,
    model TEXT NOT NULL,
    dimensions BIGINT NOT NULL,
    lexicon TEXT NOT NULL,
    active_from_us BIGINT,
    PRIMARY KEY (ledger, number)
)
 WITHOUT ROWID;

CREATE TABLE conversation_session (
    ledger TEXT NOT NULL,
    session_id TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    position BIGINT NOT NULL,
    started_at_us BIGINT NOT NULL,
    ended_at_us BIGINT,
    PRIMARY KEY (ledger, session_id)
)
 WITHOUT ROWID;

CREATE INDEX session_by_subject ON conversation_session (ledger, subject_ref, position);

CREATE TABLE conversation_turn (
    ledger TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    said_at_us BIGINT NOT NULL,
    position BIGINT NOT NULL,
    session_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    recorded_at_us BIGINT NOT NULL,
    role TEXT NOT NULL,
    PRIMARY KEY (ledger, subject_ref, said_at_us, position)
)
 WITHOUT ROWID;

CREATE INDEX turn_by_session ON conversation_turn (ledger, session_id, said_at_us, position);

CREATE TABLE recall_receipt (
    ledger TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    asked_at_us BIGINT NOT NULL,
    position BIGINT NOT NULL,
    PRIMARY KEY (ledger, subject_ref, asked_at_us, position)
)
 WITHOUT ROWID;

CREATE TABLE fact_use (
    ledger TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    subject_ref TEXT NOT NULL,
    version BIGINT NOT NULL,
    used_at_us BIGINT NOT NULL,
    PRIMARY KEY (ledger, fact_id, position)
)
 WITHOUT ROWID;

CREATE INDEX use_by_subject ON fact_use (ledger, subject_ref);

CREATE TABLE archive_segment (
    ledger TEXT NOT NULL,
    first_tx BIGINT NOT NULL,
    last_tx BIGINT NOT NULL,
    first_position BIGINT NOT NULL,
    last_position BIGINT NOT NULL,
    manifest TEXT NOT NULL,
    manifest_sha256 TEXT NOT NULL,
    PRIMARY KEY (ledger, first_tx)
)
 WITHOUT ROWID;

CREATE TRIGGER ledger_transaction_kept BEFORE DELETE ON ledger_transaction BEGIN SELECT RAISE(ABORT, 'muniment: what is recorded is never changed or removed'); END;

CREATE TRIGGER tree_head_kept BEFORE DELETE ON tree_head BEGIN SELECT RAISE(ABORT, 'muniment: what is recorded is never changed or removed'); END;

CREATE TRIGGER merkle_tile_kept BEFORE DELETE ON merkle_tile BEGIN SELECT RAISE(ABORT, 'muniment: what is recorded is never changed or removed'); END;

CREATE TRIGGER archive_segment_kept BEFORE DELETE ON archive_segment BEGIN SELECT RAISE(ABORT, 'muniment: what is recorded is never changed or removed'); END;

CREATE TRIGGER ledger_event_kept BEFORE DELETE ON ledger_event BEGIN SELECT RAISE(ABORT, 'muniment: what is recorded is never changed or removed'); END;

CREATE TRIGGER ledger_kept BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'muniment: what is recorded is never changed or removed'); END;

CREATE TRIGGER ledger_transaction_unchanged BEFORE UPDATE ON ledger_transaction BEGIN SELECT RAISE(ABORT, 'muniment: what is recorded is never changed or removed'); END;

CREATE TRIGGER tree_head_unchanged BEFORE UPDATE ON tree_head BEGIN SELECT RAISE(ABORT, 'muniment: what is recorded is never changed or removed'); END;

CREATE TRIGGER merkle_tile_unchanged BEFORE UPDATE ON merkle_tile BEGIN SELECT RAISE(ABORT, 'muniment: what is recorded is never changed or removed'); END;

CREATE TRIGGER archive_segment_unchanged BEFORE UPDATE ON archive_segment BEGIN SELECT RAISE(ABORT, 'muniment: what is recorded is never changed or removed'); END;

CREATE TRIGGER ledger_event_unchanged BEFORE UPDATE ON ledger_event WHEN NOT (NEW.ledger IS OLD.ledger AND NEW.position IS OLD.position AND NEW.tx_id IS OLD.tx_id AND NEW.recorded_at_us IS OLD.recorded_at_us AND NEW.stream IS OLD.stream AND NEW.version IS OLD.version AND NEW.topic IS OLD.topic AND NEW.subject_ref IS OLD.subject_ref AND NEW.key_id IS OLD.key_id AND NEW.leaf IS OLD.leaf AND length(NEW.state) = 0 AND OLD.stream LIKE 'fact-%' AND EXISTS (SELECT 1 FROM archive_segment s WHERE s.ledger = OLD.ledger AND OLD.position BETWEEN s.first_position AND s.last_position)) BEGIN SELECT RAISE(ABORT, 'muniment: what is recorded is never changed or removed'); END;

INSERT INTO muniment_version (version_num) VALUES ('0008');
