"""A turn in production's shape: posted in one process, taken by a Celery worker through Redis."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support import sites


def test_a_worker_takes_the_turn(tmp_path: Path, redis_url: str) -> None:
    worker = ("-m", "celery", "-A", "artifactr_site", "worker", "-c", "1", "-l", "INFO")
    with (
        sites.site(tmp_path, redis_url=f"{redis_url}/8") as site,
        site.running(*worker) as celery,
    ):
        celery.wait_for(" ready.")
        asked = subprocess.run(
            [sys.executable, "-m", "tests.e2e.asking"],
            cwd=sites.ROOT,
            env=site.environment,
            capture_output=True,
            text=True,
            timeout=sites.DEADLINE_SECONDS,
            check=False,
        )
        assert asked.returncode == 0, asked.stderr + celery.output
    told = json.loads(asked.stdout)
    assert told["status"] == ["completed"]
    assert told["types"][-1] == "run_ended"
    assert "proposal_created" in told["types"]
    assert told["taken_by_pid"] != told["own_pid"]
