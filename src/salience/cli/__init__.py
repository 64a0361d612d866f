"""The command line. Nothing here imports torch before a command has begun its work, so that help is quick."""
