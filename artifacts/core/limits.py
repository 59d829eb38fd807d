"""How much of anything core accepts. Rules never read settings: the door passes a `Limits`.

Sizes in bytes are counted in UTF-8, of JSON text where the thing is JSON.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Every size, depth and count that core enforces; a host overrides them by these names."""

    # JSON that comes in.
    body_bytes: int = 1_048_576  # one request body or frame
    artifact_bytes: int = 1_048_576  # the data of one artifact, and what one patch may copy
    depth: int = 32  # arrays and objects inside each other; a bare scalar has depth 0
    json_nodes: int = 50_000  # values of one document, containers and scalars alike

    # Patches.
    patch_ops: int = 1_000  # operations of one JSON Patch
    patch_path_bytes: int = 1_024  # one path of an operation
    patch_path_parts: int = 64  # reference tokens of one path
    text_edits: int = 200  # edits of one set of text edits

    # Texts and ids.
    id_chars: int = 128  # any public id, and a command id
    title_chars: int = 200  # title of a thread
    summary_chars: int = 200  # summary of one change
    message_bytes: int = 65_536  # content of one message
    rationale_bytes: int = 4_096  # rationale of one proposal
    reason_bytes: int = 4_096  # reason of one decision
    app_event_name_chars: int = 128  # name of an application event
    app_event_bytes: int = 65_536  # data of an application event
    record_text_bytes: int = 65_536  # text of one record
    dedupe_key_chars: int = 256  # dedupe key of one record
    catalog_bytes: int = 1_048_576  # all files of one catalog
    catalog_file_bytes: int = 262_144  # one file of a catalog

    # Counts.
    focus_artifacts: int = 100  # artifacts in the focus of one thread
    commit_all_commands: int = 100  # commands of one batch
    ingest_records: int = 100  # records of one ingest
    record_sources: int = 256  # what one record may be derived from
    catalog_files: int = 200  # files of one catalog
    catalog_definitions: int = 200  # definitions of one catalog
    render_tokens: int = 50_000  # all blocks of one recipe together
    bind_rows: int = 255  # rows that one render reads for all its blocks
    open_proposals_per_run: int = 50  # pending proposals of one run
    open_proposals_per_agent: int = 200  # pending proposals of one agent in a workspace
    page: int = 100  # entries of a page when the reader names no number
    page_max: int = 500  # most entries of one page


DEFAULT_LIMITS = Limits()
