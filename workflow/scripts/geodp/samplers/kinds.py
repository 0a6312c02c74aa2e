"""Samplers by the name a configuration gives them, and what they do."""

KINDS = {
    "automatic": "independent draws by rejection where an envelope is certified, else `matched`",
    "exact": "refuse where no envelope is certified",
    "matched": "a chain of matched proposals",
}
