"""The writer without a model: it quotes the sources sentence by sentence."""
