"""From a deployment to servers that realise it: command lines, manifests, and their load test."""
