"""What is asked: the deployment, the load, the engine's version, and what of it is legal."""

from planner.scenario.records import Deployment, Workload

__all__ = ["Deployment", "Workload"]
