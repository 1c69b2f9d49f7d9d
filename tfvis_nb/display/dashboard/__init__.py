"""The timeline with tabs of tables and charts."""
