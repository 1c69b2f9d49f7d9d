"""Read SQLite exports of Nsight Systems."""
