"""Requests of somebody who may not make them, or not so."""

from muniment.errors.categories import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    Unavailable,
)
from muniment.errors.wording import shown


class ReasonRequiredError(InvalidInput):
    """A look at another's memory, or a write to it, that does not say why."""

    def __init__(self, asked_for: str, least: int) -> None:
        self.asked_for, self.least = asked_for, least
        super().__init__(
            f"{asked_for} needs a reason of at least {least} characters, and records it; "
            "say why with reason="
        )


class AccessDeniedError(Forbidden):
    """A principal has no right to do this to a memory it can read."""

    def __init__(self, principal: str, verb: str, whose: str) -> None:
        self.principal, self.verb, self.whose = principal, verb, whose
        super().__init__(
            f"{shown(principal)} may not {verb} on {whose}; ask somebody whose role "
            "allows it"
        )


class OutOfReachError(Forbidden):
    """A principal has no right to know what there is of a memory."""

    def __init__(self, principal: str, whose: str) -> None:
        self.principal, self.whose = principal, whose
        super().__init__(
            f"nothing of {whose} is within the reach of {shown(principal)}; name another "
            "scope, or ask for a role that reads it"
        )


class UnguardedVerbError(Forbidden):
    """A verb that the table of rights does not know: nobody may."""

    def __init__(self, verb: str) -> None:
        self.verb = verb
        super().__init__(
            f"{verb} is in no row of the table of rights; give it one before it is offered"
        )


class ImpersonationError(Forbidden):
    """A request that names somebody else as the one who makes it."""

    def __init__(self, principal: str, field: str, named: object) -> None:
        self.principal, self.field, self.named = principal, field, named
        super().__init__(
            f"{shown(principal)} cannot act as {field} {shown(named)}; leave it out"
        )


class ForeignTenantError(Forbidden):
    """A principal of another tenant."""

    def __init__(self, principal: str, tenant: str) -> None:
        self.principal, self.tenant = principal, tenant
        super().__init__(
            f"{shown(principal)} belongs to tenant {shown(tenant)}, which this ledger is "
            "not; open the ledger of that tenant"
        )


class GlassAlreadyBrokenError(Forbidden):
    """A second emergency access before the first was reviewed."""

    def __init__(self, principal: str, whose: str) -> None:
        self.principal, self.whose = principal, whose
        super().__init__(
            f"{shown(principal)} looked at {whose} in an emergency already; an officer "
            "has to review that before there can be another"
        )


class NotAuthenticatedError(Forbidden):
    """Nobody we know: no credential, or one that does not hold."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"not authenticated: {problem}; send a valid API key or token as a bearer"
        )


class UnknownApiKeyError(NotFound):
    """No API key of that id was issued."""

    def __init__(self, key_id: str) -> None:
        self.key_id = key_id
        super().__init__(f"no API key {shown(key_id)}; list the keys to see their ids")


class UnknownGlassError(NotFound):
    """No emergency access of that id waits for a review."""

    def __init__(self, glass_id: str) -> None:
        self.glass_id = glass_id
        super().__init__(
            f"no emergency access {shown(glass_id)} waits for a review; list those that do"
        )


class RateLimitedError(Unavailable):
    """More requests than a key has."""

    def __init__(self, per_minute: int, retry_after: int) -> None:
        self.per_minute, self.retry_after = per_minute, retry_after
        super().__init__(
            f"more than {per_minute} requests a minute; try again in {retry_after} s"
        )


class RequestTooLargeError(InvalidInput):
    """A request body over the limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(
            f"a request is at most {limit:,} bytes; send it in parts, or raise "
            "MUNIMENT_REQUEST_LIMIT"
        )


class IssuerUnavailableError(Unavailable):
    """The keys to check tokens by cannot be had."""

    def __init__(self, url: str, problem: str) -> None:
        self.url, self.problem = url, problem
        super().__init__(
            f"no keys to check tokens by from {url}: {problem}; try again, or use an API "
            "key"
        )


class ServiceUnavailableError(Unavailable):
    """A service does not answer, or not as one of ours does."""

    def __init__(self, host: str, problem: str, *, may_be_written: bool) -> None:
        self.host, self.problem, self.may_be_written = host, problem, may_be_written
        remedy = (
            "a write may have been made, so repeat it with the same idempotency key"
            if may_be_written
            else "see that the service runs there, then repeat"
        )
        super().__init__(f"no answer from {host}: {problem}; {remedy}")


class ApprovalRequiredError(Forbidden):
    """What is about so much that somebody else has to agree first."""

    def __init__(self, verb: str, size: int, proposal_id: str) -> None:
        self.verb, self.size, self.proposal_id = verb, size, proposal_id
        super().__init__(
            f"{verb} is about {size} facts, so somebody else has to agree: proposal "
            f"{proposal_id} was made; once it is approved, repeat with that approval"
        )


class OwnProposalError(Forbidden):
    """An answer to a proposal by whoever made it, or by nobody."""

    def __init__(self, proposal_id: str) -> None:
        self.proposal_id = proposal_id
        super().__init__(
            f"proposal {proposal_id} is answered by somebody else than who made it; ask "
            "another who may"
        )


class ProposalStateError(Conflict):
    """A proposal that is not, or no longer, what it has to be."""

    def __init__(self, proposal_id: str, state: str, needed: str) -> None:
        self.proposal_id, self.state, self.needed = proposal_id, state, needed
        super().__init__(
            f"proposal {proposal_id} is {state}, not {needed}; list the proposals to see "
            "who answered"
        )


class KeyAlreadyIssuedError(Conflict):
    """An API key was made by this very request before; what it is was shown then."""

    def __init__(self, key_id: str, tx_id: int) -> None:
        self.key_id, self.tx_id = key_id, tx_id
        super().__init__(
            f"this request made API key {key_id} already, in transaction {tx_id}, and a "
            "key is shown once; revoke it if nobody has it, then ask with another "
            "idempotency key"
        )


class UnknownProposalError(NotFound):
    """No such proposal."""

    def __init__(self, proposal_id: str) -> None:
        self.proposal_id = proposal_id
        super().__init__(
            f"no such proposal: {shown(proposal_id)}; list the proposals to see their ids"
        )
