"""One function a command: names of files in, values and files out."""
