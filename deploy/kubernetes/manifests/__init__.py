"""Generates manifests of Kubernetes from the code, and checks all manifests offline."""
