"""The choice between deployments."""
