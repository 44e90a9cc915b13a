"""Does recall find the right record, and does fusing lists help: turns and functions."""
