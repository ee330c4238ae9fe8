"""Commands that ask social: posts that a person sees before they go out."""
