"""Why a derived fact holds, and which rules are behind each decision."""
