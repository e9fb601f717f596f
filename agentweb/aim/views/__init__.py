"""The messenger over HTTP: one module for each kind of thing that is asked for."""
