"""What two questions have in common and what sets them apart: no vectors, no packages, Chinese and English."""
