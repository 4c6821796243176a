"""The version of DTNN, in this one place. CHANGES.md says what is new in it, docs/installing.md what
its numbers promise."""

DTNN_VERSION = "0.1.0"

# Its day, which files of packages bear.
DTNN_DATE = "2026-11-27"

# The version of the C interface (models/c/dtnn.h): libdtnn.so.<this>. Grows when a program that was
# built with an older one could fail.
DTNN_SONAME_VERSION = "0"
