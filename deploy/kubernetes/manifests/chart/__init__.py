"""The Helm chart, made from what kustomize renders of base and components."""
