"""Results as tables with units and provenance: text cells, CSV, JSON, HTML."""
