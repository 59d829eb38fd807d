"""The codes with which a connection ends: those of the protocol, and what to make of each."""

from __future__ import annotations

BAD_HELLO, UNAUTHORIZED, REFUSED, UNKNOWN = 4400, 4401, 4403, 4404
HELLO_TIMEOUT, TOO_SLOW, BROKEN = 4408, 4429, 1011

MEANINGS = {
    BAD_HELLO: "The first frame was no `hello`, or one that is not understood. Do not come back.",
    UNAUTHORIZED: "Not signed in, or not any more. Sign in first.",
    REFUSED: "Refused: the role, the host's rule, or too many sockets. "
    "Do not come back by yourself.",
    UNKNOWN: "There is no such workspace for this caller.",
    HELLO_TIMEOUT: "No `hello` came in time.",
    TOO_SLOW: "The client reads too slowly. Come back at once, after the last seq it has.",
    BROKEN: "Something failed in the server. Come back later.",
}
# What a connection is refused or ended with, by the code of the error.
OF_ERROR = {"unauthorized": UNAUTHORIZED, "forbidden": REFUSED, "not_found": UNKNOWN}
