"""The judge: a model that checks what the rules on words cannot decide. It can only reject."""
