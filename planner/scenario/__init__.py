"""What is asked: the deployment, the load, the formats of the weights, and what of it is legal."""

from planner.scenario.legal import check_legal
from planner.scenario.records import Deployment, Workload
from planner.scenario.schemes import weight_scheme

__all__ = ["Deployment", "Workload", "check_legal", "weight_scheme"]
