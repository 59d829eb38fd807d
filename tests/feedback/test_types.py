"""The feedback types that come with the app, given through the one write path."""

import pytest

from artifacts import core
from tests.support.builders import make_artifact, make_thread
from tests.support.cast import make_cast

pytestmark = pytest.mark.django_db


def test_thumbs_and_correction_are_found() -> None:
    assert {"thumbs", "correction"} <= set(core.registered_feedback_types())


@pytest.mark.parametrize(
    ("feedback_type", "value", "stored"),
    [
        ("thumbs", {"up": True}, {"up": True, "comment": None}),
        (
            "correction",
            {"expected": "Better", "comment": "why"},
            {"expected": "Better", "comment": "why"},
        ),
    ],
)
def test_they_judge_artifacts_and_threads(
    feedback_type: str, value: dict[str, object], stored: dict[str, object]
) -> None:
    ana = make_cast().ana
    for target in (
        core.ThreadTarget(thread_id=make_thread(ana)),
        core.ArtifactTarget(artifact_id=make_artifact(ana), version=1),
    ):
        ana.commit(core.GiveFeedback(feedback_type=feedback_type, target=target, value=value))
        given = ana.read(last=1)[0].event
        assert isinstance(given, core.FeedbackGiven)
        assert given.value == stored


@pytest.mark.parametrize(
    "value", [{}, {"up": "perhaps"}, {"up": True, "stars": 5}, {"up": True, "comment": "a\0b"}]
)
def test_a_value_of_another_form_is_refused(value: dict[str, object]) -> None:
    ana = make_cast().ana
    target = core.ThreadTarget(thread_id=make_thread(ana))
    head = ana.head_seq()
    with pytest.raises(core.ValidationFailed):
        ana.commit(core.GiveFeedback(feedback_type="thumbs", target=target, value=value))
    assert ana.head_seq() == head
