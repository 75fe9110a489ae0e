"""Questions about a model or a document: heads, lens, patching, survey; lessons, claims, failures."""
