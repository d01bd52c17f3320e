"""Prints the largest distance in metres between the first position and the others: drift.py <lat,lon> ..."""

import math
import sys

positions = [tuple(map(float, word.split(","))) for word in sys.argv[1:]]
lat, lon = positions[0]
scale = math.cos(math.radians(lat))
print(max(111_120 * math.hypot(a - lat, (b - lon) * scale) for a, b in positions))
