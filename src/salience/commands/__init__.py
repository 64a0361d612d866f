"""One function for each command of the command line: it reads files, computes, and writes files."""
