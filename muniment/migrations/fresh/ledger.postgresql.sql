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
);

CREATE TABLE ledger_transaction (
    ledger TEXT NOT NULL,
    tx_id BIGINT NOT NULL,
    recorded_at_us BIGINT NOT NULL,
    first_position BIGINT NOT NULL,
    last_position BIGINT NOT NULL,
    action TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    idempotency_tag BYTEA,
    request_tag BYTEA,
    header BYTEA NOT NULL,
    PRIMARY KEY (ledger, tx_id)
);

CREATE UNIQUE INDEX transaction_by_time ON ledger_transaction (ledger, recorded_at_us);

CREATE UNIQUE INDEX transaction_by_key ON ledger_transaction (ledger, idempotency_tag) WHERE idempotency_tag IS NOT NULL;

CREATE TABLE ledger_event (
    ledger TEXT NOT NULL,
    position BIGINT NOT NULL,
    tx_id BIGINT NOT NULL,
    recorded_at_us BIGINT NOT NULL,
    stream TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    topic TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    key_id BIGINT NOT NULL,
    state BYTEA NOT NULL,
    leaf BYTEA NOT NULL,
    PRIMARY KEY (ledger, position)
);

CREATE UNIQUE INDEX event_by_stream ON ledger_event (ledger, stream, version);

CREATE INDEX event_by_subject ON ledger_event (ledger, subject_ref, position);

CREATE TABLE projection_checkpoint (
    ledger TEXT NOT NULL,
    projection TEXT NOT NULL,
    position BIGINT NOT NULL,
    PRIMARY KEY (ledger, projection)
);

CREATE TABLE merkle_tile (
    ledger TEXT NOT NULL,
    level BIGINT NOT NULL,
    number BIGINT NOT NULL,
    root BYTEA NOT NULL,
    hashes BYTEA NOT NULL,
    PRIMARY KEY (ledger, level, number)
);

CREATE TABLE tree_head (
    ledger TEXT NOT NULL,
    size BIGINT NOT NULL,
    made_at_us BIGINT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (ledger, size)
);

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
    confidence DOUBLE PRECISION NOT NULL,
    importance DOUBLE PRECISION NOT NULL,
    core BOOLEAN NOT NULL,
    expires_at_us BIGINT,
    content_tag BYTEA,
    PRIMARY KEY (ledger, fact_id, recorded_from_us, valid_from_us),
    CONSTRAINT belief_recorded CHECK (recorded_from_us < recorded_to_us),
    CONSTRAINT belief_valid CHECK (valid_from_us < valid_to_us)
);

CREATE INDEX belief_by_subject ON belief (ledger, subject_ref, recorded_to_us, recorded_from_us, valid_from_us, valid_to_us);

CREATE INDEX belief_by_content ON belief (ledger, subject_ref, content_tag, recorded_to_us) WHERE recorded_to_us = 9223372036854775807;

CREATE TABLE version_vector (
    ledger TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    model TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    version BIGINT NOT NULL,
    position BIGINT NOT NULL,
    key_id BIGINT NOT NULL,
    text_tag BYTEA NOT NULL,
    attempts BIGINT NOT NULL,
    dimensions BIGINT NOT NULL,
    state BYTEA,
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
);

CREATE TABLE conversation_session (
    ledger TEXT NOT NULL,
    session_id TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    position BIGINT NOT NULL,
    started_at_us BIGINT NOT NULL,
    ended_at_us BIGINT,
    PRIMARY KEY (ledger, session_id)
);

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
);

CREATE INDEX turn_by_session ON conversation_turn (ledger, session_id, said_at_us, position);

CREATE TABLE recall_receipt (
    ledger TEXT NOT NULL,
    subject_ref TEXT NOT NULL,
    asked_at_us BIGINT NOT NULL,
    position BIGINT NOT NULL,
    PRIMARY KEY (ledger, subject_ref, asked_at_us, position)
);

CREATE TABLE fact_use (
    ledger TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    subject_ref TEXT NOT NULL,
    version BIGINT NOT NULL,
    used_at_us BIGINT NOT NULL,
    PRIMARY KEY (ledger, fact_id, position)
);

CREATE INDEX use_by_subject ON fact_use (ledger, subject_ref);

ALTER TABLE belief ENABLE ROW LEVEL SECURITY;

ALTER TABLE belief FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON belief USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE conversation_session ENABLE ROW LEVEL SECURITY;

ALTER TABLE conversation_session FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON conversation_session USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE conversation_turn ENABLE ROW LEVEL SECURITY;

ALTER TABLE conversation_turn FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON conversation_turn USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE fact_use ENABLE ROW LEVEL SECURITY;

ALTER TABLE fact_use FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON fact_use USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE ledger ENABLE ROW LEVEL SECURITY;

ALTER TABLE ledger FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON ledger USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE ledger_event ENABLE ROW LEVEL SECURITY;

ALTER TABLE ledger_event FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON ledger_event USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE ledger_transaction ENABLE ROW LEVEL SECURITY;

ALTER TABLE ledger_transaction FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON ledger_transaction USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE merkle_tile ENABLE ROW LEVEL SECURITY;

ALTER TABLE merkle_tile FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON merkle_tile USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE projection_checkpoint ENABLE ROW LEVEL SECURITY;

ALTER TABLE projection_checkpoint FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON projection_checkpoint USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE recall_receipt ENABLE ROW LEVEL SECURITY;

ALTER TABLE recall_receipt FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON recall_receipt USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE tree_head ENABLE ROW LEVEL SECURITY;

ALTER TABLE tree_head FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON tree_head USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE vector_generation ENABLE ROW LEVEL SECURITY;

ALTER TABLE vector_generation FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON vector_generation USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

ALTER TABLE version_vector ENABLE ROW LEVEL SECURITY;

ALTER TABLE version_vector FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON version_vector USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

CREATE TABLE archive_segment (
    ledger TEXT NOT NULL,
    first_tx BIGINT NOT NULL,
    last_tx BIGINT NOT NULL,
    first_position BIGINT NOT NULL,
    last_position BIGINT NOT NULL,
    manifest TEXT NOT NULL,
    manifest_sha256 TEXT NOT NULL,
    PRIMARY KEY (ledger, first_tx)
);

ALTER TABLE archive_segment ENABLE ROW LEVEL SECURITY;

ALTER TABLE archive_segment FORCE ROW LEVEL SECURITY;

CREATE POLICY of_ledger ON archive_segment USING (ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))) WITH CHECK (ledger = (SELECT nullif(current_setting('muniment.ledger', true), '')));

CREATE FUNCTION muniment_kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'muniment: what is recorded is never changed or removed' USING ERRCODE = 'insufficient_privilege'; END $$;

CREATE FUNCTION muniment_payload_leaves() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE archived boolean; BEGIN EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.archive_segment s WHERE s.ledger = $1 AND $2 BETWEEN s.first_position AND s.last_position)', TG_TABLE_SCHEMA) INTO archived USING OLD.ledger, OLD.position; IF ROW(NEW.ledger, NEW.position, NEW.tx_id, NEW.recorded_at_us, NEW.stream, NEW.version, NEW.topic, NEW.subject_ref, NEW.key_id, NEW.leaf) IS DISTINCT FROM ROW(OLD.ledger, OLD.position, OLD.tx_id, OLD.recorded_at_us, OLD.stream, OLD.version, OLD.topic, OLD.subject_ref, OLD.key_id, OLD.leaf) OR octet_length(NEW.state) > 0 OR OLD.stream NOT LIKE 'fact-%' OR NOT archived THEN RAISE EXCEPTION 'muniment: what is recorded is never changed or removed' USING ERRCODE = 'insufficient_privilege'; END IF; RETURN NEW; END $$;

CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON ledger_transaction FOR EACH ROW EXECUTE FUNCTION muniment_kept();

CREATE TRIGGER kept_whole BEFORE TRUNCATE ON ledger_transaction FOR EACH STATEMENT EXECUTE FUNCTION muniment_kept();

CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON tree_head FOR EACH ROW EXECUTE FUNCTION muniment_kept();

CREATE TRIGGER kept_whole BEFORE TRUNCATE ON tree_head FOR EACH STATEMENT EXECUTE FUNCTION muniment_kept();

CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON merkle_tile FOR EACH ROW EXECUTE FUNCTION muniment_kept();

CREATE TRIGGER kept_whole BEFORE TRUNCATE ON merkle_tile FOR EACH STATEMENT EXECUTE FUNCTION muniment_kept();

CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON archive_segment FOR EACH ROW EXECUTE FUNCTION muniment_kept();

CREATE TRIGGER kept_whole BEFORE TRUNCATE ON archive_segment FOR EACH STATEMENT EXECUTE FUNCTION muniment_kept();

CREATE TRIGGER kept BEFORE DELETE ON ledger_event FOR EACH ROW EXECUTE FUNCTION muniment_kept();

CREATE TRIGGER kept_whole BEFORE TRUNCATE ON ledger_event FOR EACH STATEMENT EXECUTE FUNCTION muniment_kept();

CREATE TRIGGER kept BEFORE DELETE ON ledger FOR EACH ROW EXECUTE FUNCTION muniment_kept();

CREATE TRIGGER kept_whole BEFORE TRUNCATE ON ledger FOR EACH STATEMENT EXECUTE FUNCTION muniment_kept();

CREATE TRIGGER kept_but_its_payload BEFORE UPDATE ON ledger_event FOR EACH ROW EXECUTE FUNCTION muniment_payload_leaves();

INSERT INTO muniment_version (version_num) VALUES ('0008');
