"""The requirement manifest: every statement of the four specifications that a test could prove.

A requirement moves from planned to implemented by deleting its ``planned=`` line in the same change that adds
``@pytest.mark.requirement("its id")`` to the test which proves it; ``test_requirements.py`` insists on both.
"""

from __future__ import annotations

from tests.spec.requirement import Requirement
from tests.spec.requirements import agent_actions, aim, aip, awp

REQUIREMENTS: tuple[Requirement, ...] = (
    *agent_actions.REQUIREMENTS,
    *awp.REQUIREMENTS,
    *aip.REQUIREMENTS,
    *aim.REQUIREMENTS,
)
