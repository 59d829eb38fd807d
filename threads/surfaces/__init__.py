"""What the live surfaces share: following a log on behalf of sockets and event streams.

Read `hub` first (one per process), then `follower` (one per workspace), `subscription` (one per
reader), `outbox`, `feeds` (live frames) and `admissions` (whether access still holds).
"""
