// The one unit that compiles the precompiled header.
