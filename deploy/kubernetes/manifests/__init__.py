"""What belongs to the manifests of Kubernetes: those that are made from the code, and checks of all, offline."""
