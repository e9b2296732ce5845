"""How far measurements pull a calibration: those far off less and less, a user's own with constant force."""

from __future__ import annotations

import numpy as np
import pytest

from planner.measurement.calibration import FREEDOM, HUBER, constant, tailed


def test_what_is_far_off_pulls_less_the_further_it_is():
    residuals = np.array([0.0, 0.5, 1.0, 10.0, -10.0])
    loss, weight = tailed(residuals)
    assert FREEDOM == 1
    assert weight == pytest.approx([2.0, 1.6, 1.0, 2 / 101, 2 / 101])
    assert loss[2] == pytest.approx(np.log(2))
    pull = np.abs(weight * residuals)
    assert pull[3] < pull[1] < pull[2]


def test_own_points_pull_with_constant_force_however_far_off_they_are():
    residuals = np.array([0.5, 2.0, -20.0])
    _, weight = constant(residuals)
    assert weight * residuals == pytest.approx([0.5, HUBER, -HUBER])


@pytest.mark.parametrize("force", [tailed, constant])
def test_the_pull_is_the_slope_of_the_loss(force):
    residuals = np.linspace(-6, 6, 25) + 0.01
    slope = (force(residuals + 1e-6)[0] - force(residuals - 1e-6)[0]) / 2e-6
    assert force(residuals)[1] * residuals == pytest.approx(slope, abs=1e-5)
