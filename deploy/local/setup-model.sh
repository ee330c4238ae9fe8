#!/bin/sh
# Installs a small language model and what runs it into .venv-model.
exec "$(dirname "$0")/environment.sh" model
