"""Where records come from: memory, files and databases through DuckDB, Spark."""
