"""SQL over the tables of traces, with DuckDB."""
