"""Time stamps after RFC 3161: an authority says that it saw something, and when."""

import hashlib
import http.client
import urllib.request

from muniment.errors import ConfigurationError, TimeStampUnavailableError


_TIMEOUT_SECONDS = 30
_ANSWER_BYTES_MAX = 1024 * 1024
_GRANTED = 0


def time_stamp(url: str, content: bytes) -> bytes:
    """
    Return what the authority at *url* says of *content*: its answer, DER.

    It sees a hash of it and nothing else.

    Raises:
        ConfigurationError: If the package that this needs is not installed.
        TimeStampUnavailableError: If it does not answer, or not what it was asked.
    """
    try:
        import rfc3161_client as tsp  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ConfigurationError(
            "rfc3161-client is not installed", "install muniment[timestamp]"
        ) from error
    builder = tsp.TimestampRequestBuilder().data(content)
    builder = builder.hash_algorithm(tsp.HashAlgorithm.SHA256).cert_request(
        cert_request=True
    )
    asked = builder.nonce(nonce=True).build()
    raw = _answer(url, asked.as_bytes())
    try:
        answer = tsp.decode_timestamp_response(raw)
        if answer.status != _GRANTED:
            said = "; ".join(answer.status_string)
            raise TimeStampUnavailableError(url, f"it refused ({said or answer.status})")
        found = answer.tst_info
        is_it = found.message_imprint.message == hashlib.sha256(content).digest()
        if not is_it or found.nonce != asked.nonce:
            raise TimeStampUnavailableError(url, "it answered something else")
    except ValueError as error:
        raise TimeStampUnavailableError(
            url, f"it answered no time stamp ({error})"
        ) from error
    return raw


def _answer(url: str, asked: bytes) -> bytes:
    request = urllib.request.Request(  # noqa: S310 - the setting allows http and https alone
        url, data=asked, headers={"Content-Type": "application/timestamp-query"}
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 - as above
            raw: bytes = answer.read(_ANSWER_BYTES_MAX)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise TimeStampUnavailableError(url, str(error)) from error
    return raw
