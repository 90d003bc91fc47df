"""What the requests of a batch would each ask of the database, asked once for all."""

from collections.abc import Sequence

from muniment.ledger.inline import InlineProjection
from muniment.ledger.mapper import tag_of
from muniment.ledger.recorder import Append
from muniment.ledger.records import SUBJECT
from muniment.ledger.transaction import Request
from muniment.ledger.vault import Vault


def foresee(
    append: Append,
    requests: Sequence[Request],
    *,
    vault: Vault,
    projection: InlineProjection,
) -> None:
    """Ask what binds the subjects of *requests*, and who says already what they say."""
    # Whoever erases says so in the ledger, under the lock, before keys are destroyed:
    # what is known now holds as long as the subject's own stream does not say so.
    vault.epoch()
    # What passes a freeze asks for the state of its subject only where it needs it.
    bound = [each for each in requests if each.scope and not each.passes_freeze]
    recalled = ((each, vault.recalled(each.scope)) for each in bound if each.scope)
    known = [(request, found[0]) for request, found in recalled if found]
    append.foresee(sorted({SUBJECT + subject.ref for _, subject in known}))
    said = [(each.ref, tag_of(each, *asked.says)) for asked, each in known if asked.says]
    if len(said) > 1:
        projection.foresee(append, said)
