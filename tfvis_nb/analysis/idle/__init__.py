"""Why a device had nothing to do."""
