"""A process that looks at another's memory, says what it saw, and is killed."""

import os
import signal
import sys

from muniment import MemoryStore, Principal, Settings
from muniment.domain.access import Role


def main() -> None:
    store = MemoryStore.open(Settings.model_validate_json(sys.argv[1]))
    officer = store.acting_as(Principal(id="o-1", roles=(Role.COMPLIANCE_OFFICER,)))
    (fact,) = officer.get_all(user_id="ann", reason="complaint 2026-17")
    sys.stdout.write(f"{fact.fact_id}\n")
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
